package scenarios

import (
	"errors"

	"github.com/simkafka/simkafka/model/config"
)

// wholeChecks looks at what only the whole file shows: settings against each
// other, faults that nobody ends.
func (l *loader) wholeChecks() {
	s := l.spec
	if s.Duration == 0 && l.durationNode.Value == "0" { // another value was reported where it was read
		l.errorAt(l.durationNode, "duration must be longer than 0")
	}
	if s.Duration > 0 && s.Duration <= s.WorkloadStart() {
		l.errorAt(l.durationNode, "duration is %s; the workload begins at %s, when the cluster has booted", short(s.Duration), short(s.WorkloadStart()))
	}
	if len(s.Topics) == 0 && l.Errors() == 0 {
		l.errorAt(l.durationNode, "a scenario needs at least one topic")
	}
	p, ok := config.ProfileByName(s.Protocol)
	if !ok || l.Errors() > 0 {
		return
	}
	var errs []error
	for _, x := range s.Producers {
		_, e := config.NewProducer(p, x.Config)
		errs = append(errs, e...)
	}
	for _, err := range errs {
		var se *config.SettingError
		if errors.As(err, &se) {
			l.errorAt(l.protocolNode, "%v", err)
		}
	}
}
