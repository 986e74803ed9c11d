package invariant

// compactedText is why contents are not judged where a cleaner was at work on a topic
// that was not to be compacted when the run began: the keys of its records are not known.
const compactedText = "the log was compacted, although its topic did not begin with compact in cleanup.policy: the keys of older records are not " +
	"known, so what the records of this partition are is not judged from then on"

// comparesContents tells of an invariant that it compares the batches of logs with
// each other, with what was acknowledged or with what was read.
func comparesContents(name string) bool {
	switch name {
	case "no-acked-loss", "acks-1-survives", "repeatable-read", "log-matching", "electable-replicas-complete",
		"high-watermark-safe", "acked-by-min-isr", "recovery-keeps-prefix", "no-phantom", "order-preserved", "epoch-cache-agrees":
		return true
	}
	return false
}

// compacted notes that a broker has begun to compact a partition: the promises about
// its records are suspended at once, whether or not one will seem broken.
func (s *Suite) compacted() {
	p := s.g.ch.p
	if p.compacted {
		return
	}
	p.compacted = true
	if p.keys != nil {
		return
	}
	for _, name := range []string{"no-acked-loss", "acks-1-survives", "repeatable-read", "log-matching"} {
		s.byName(name).suspend(p, compactedText)
	}
}
