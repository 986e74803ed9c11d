package invariant

import "github.com/simkafka/simkafka/model/outcome"

// Violations lists what was found so far, in the order of discovery. It is the suite's.
func (s *Suite) Violations() []outcome.Violation { return s.violations }
