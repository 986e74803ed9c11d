package invariant

// A controller of ZooKeeper mode tells brokers of those partitions only whose state it
// knows (ControllerBrokerRequestBatch.addUpdateMetadataRequestForBrokers): of a new one
// from its first election on, which waits for a live replica, of the others when it has
// read their states after a failover. Clients count the partitions that they hear of.

// tell: the controller of today knows the state of a partition.
func (g *ghost) tell(p *partition) {
	if p.told {
		return
	}
	p.told = true
	t := p.topic
	n := int32(0)
	for _, o := range t.parts {
		if o != nil && o.told {
			n++
		}
	}
	if t.toldAt != g.now || len(t.told) == 0 { // those of one instant are told of in one request
		t.told, t.toldAt = append(t.told, n), g.now
	}
	t.told[len(t.told)-1] = n
}

// controllerReads: a new controller reads all states that there are.
func (g *ghost) controllerReads() {
	g.each(func(p *partition) {
		if p.auth.known {
			g.tell(p)
		}
	})
}

// topicGrows follows a partition that is assigned: added ones are more than there were.
func (g *ghost) topicGrows(p *partition) {
	t := p.topic
	if t.count == 0 || p.tp.Partition < t.count {
		return
	}
	if t.addedAt != g.now {
		t.grown, t.addedAt = append(t.grown, t.count), g.now
	}
	t.count = p.tp.Partition + 1
	g.disturb()
}
