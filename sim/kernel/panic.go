package kernel

import (
	"fmt"
	"runtime/debug"

	"github.com/simkafka/simkafka/model/step"
)

// call runs the step's code; a panic becomes a failure, not the end of the run.
func (k *Kernel) call(n step.Node) (failure *Assertion, err error) {
	returned := false
	defer func() {
		if !returned { // asking recover costs more
			failure = &Assertion{Message: fmt.Sprint(recover()), Stack: string(debug.Stack())}
		}
	}()
	err = n.Step(&k.in, &k.eff)
	returned = true
	return nil, err
}
