package kernel

import (
	"fmt"
	"runtime/debug"

	"github.com/simkafka/simkafka/model/step"
)

// call runs the step's code; a panic becomes a failure, not the end of the run.
func (k *Kernel) call(n step.Node) (failure *Assertion, err error) {
	defer func() {
		if v := recover(); v != nil {
			failure = &Assertion{Message: fmt.Sprint(v), Stack: string(debug.Stack())}
		}
	}()
	return nil, n.Step(&k.in, &k.eff)
}
