package invariant

// deletedText is why nothing of a topic is judged any more.
const deletedText = "the topic is deleted"

// deleted counts the acknowledged records of a topic whose znode goes: whoever deletes a
// topic loses them. Those that nobody could read any more are not among them.
func (l *losses) deleted(s *Suite, name string) {
	for _, t := range s.g.topics {
		if t.Name != name {
			continue
		}
		for _, p := range t.parts {
			if p != nil {
				l.deletedPartition(s, p)
			}
		}
	}
}

func (l *losses) deletedPartition(s *Suite, p *partition) {
	for _, x := range p.senders {
		n := int64(0)
		for _, a := range x.acked {
			n += a.hi - a.lo
		}
		if n == 0 {
			continue
		}
		f := s.byName("no-acked-loss")
		if x.acks != allISR {
			f = s.byName("acks-1-survives")
		}
		f.checked += uint64(n)
		f.suspend(p, deletedText)
		l.lost += n
		l.allow("topic "+p.tp.Topic+" was deleted", n, example(p, x, firstAck(p, x), x.acked[0].lo))
	}
}

// firstAck is the oldest acknowledgement that is remembered, if it is of the sender's first
// acknowledged record.
func firstAck(p *partition, x *sender) *ack {
	a, _ := ackOf(p.acks.by(x), x.acked[0].lo)
	return a
}
