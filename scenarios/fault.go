package scenarios

import (
	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/faults/point"
)

// fault reads the arguments of one fault word.
func (e *entry) fault(word string, n *yaml.Node) {
	var node faults.Selector
	plain := func(make func() faults.Fault) {
		if s, ok := e.single(n, word); ok {
			node = s
			e.p.Fault = make()
		}
	}
	ofDisk := func(make func() faults.Fault) {
		e.disk(word, &node)(n)
		e.p.Fault = make()
	}
	switch word {
	case "kill":
		plain(func() faults.Fault { return faults.Kill{Node: node} })
	case "power_loss":
		plain(func() faults.Fault { return faults.PowerLoss{Node: node} })
	case "stop":
		plain(func() faults.Fault { return faults.Stop{Node: node} })
	case "restart":
		plain(func() faults.Fault { return faults.Restart{Node: node} })
	case "pause":
		plain(func() faults.Fault { return faults.Pause{Node: node} })
	case "resume":
		plain(func() faults.Fault { return faults.Resume{Node: node} })
	case "stall_disk":
		ofDisk(func() faults.Fault { return faults.Stall{Node: node} })
	case "disk_full":
		ofDisk(func() faults.Fault { return faults.DiskFull{Node: node} })
	case "wipe":
		plain(func() faults.Fault { return faults.Wipe{Node: node} })
	case "hold", "lose":
		e.message(n, word)
	case "clog":
		f := faults.Clog{}
		e.l.mapping(n, "clog", field{"from", e.selectors("from", &f.From), true}, field{"to", e.selectors("to", &f.To), true})
		e.p.Fault = f
	case "half_open":
		f := faults.HalfOpen{}
		e.l.mapping(n, "half_open", field{"between", e.selectors("between", &f.A), true}, field{"and", e.selectors("and", &f.B), true})
		e.p.Fault = f
	case "flap":
		f := faults.Flap{}
		e.l.mapping(n, "flap", field{"between", e.selectors("between", &f.A), true}, field{"and", e.selectors("and", &f.B), true},
			field{"down", e.rangeOf("down", &f.Down, &f.Down), true}, field{"up", e.rangeOf("up", &f.Up, &f.Up), true})
		e.p.Fault = f
	case "lying_disk":
		f := faults.LyingDisk{}
		e.l.mapping(n, "lying_disk", field{"node", e.into("node", &f.Node), true}, field{"file", e.l.text("file", &f.File), false})
		e.p.Fault = f
	case "damage":
		f := faults.Damage{}
		e.l.mapping(n, "damage", field{"node", e.into("node", &f.Node), true}, field{"file", e.l.text("file", &f.File), true},
			field{"how", e.l.word("how", &f.How, faults.Damages...), true})
		e.p.Fault = f
	case "isolate":
		e.isolate(n)
	case "cut":
		e.cut(n)
	case "link":
		e.link(n)
	case "reset":
		f := faults.Reset{}
		e.l.mapping(n, "reset", field{"between", e.selectors("between", &f.A), true}, field{"and", e.selectors("and", &f.B), true})
		e.apart(n, f.A, f.B)
		e.p.Fault = f
	case "slow_disk":
		f := faults.SlowDisk{Factor: 10}
		e.l.mapping(n, "slow_disk", field{"node", e.disk("node", &f.Node), true},
			field{"factor", parsed(&e.l.reader, "factor", &f.Factor, factors()), false})
		e.p.Fault = f
	case "disk_error":
		e.diskError(n)
	case "failpoint":
		e.failpoint(n)
	case "clock_offset", "clock_jump":
		f := faults.Clock{Jump: word == "clock_jump"}
		e.l.mapping(n, word, field{"node", e.into("node", &f.Node), true},
			field{"by", parsed(&e.l.reader, "by", &f.Delta, signedDurations()), true})
		if f.Node.Role == faults.ZooKeeper {
			e.l.warnAt(n, "%s on zookeeper changes nothing: what it does goes by no wall clock", word)
		}
		e.p.Fault = f
	case "create_partitions":
		e.createPartitions(n)
	case "delete_topic":
		e.deleteTopic(n)
	case "create_topic":
		e.createTopic(n)
	default:
		panic("scenarios: fault " + word + " is in the table but cannot be read")
	}
}

func (e *entry) message(n *yaml.Node, word string) {
	f := faults.Message{Kind: "any", Lose: word == "lose"}
	apiNode := n
	e.l.mapping(n, word, field{"from", e.selectors("from", &f.From), true}, field{"to", e.selectors("to", &f.To), true},
		field{"api", e.l.at(&apiNode, e.l.text("api", &f.API)), false},
		field{"kind", e.l.word("kind", &f.Kind, "any", "request", "response"), false},
		field{"count", count(&e.l.reader, "count", 1, 1_000_000, &f.Count), false})
	if _, ok := faults.APIKey(f.API); !ok && f.API != "" {
		e.l.errorAt(apiNode, "unknown API %q%s", f.API, suggest(f.API, faults.APINames()))
	}
	e.p.Fault = f
}

func (e *entry) isolate(n *yaml.Node) {
	f := faults.Isolate{}
	e.l.either(n, e.into("isolate", &f.Node), func(v *yaml.Node) {
		e.l.mapping(v, "isolate", field{"node", e.into("node", &f.Node), true}, field{"except", e.selectors("except", &f.Except), false})
	})
	e.p.Fault = f
}

func (e *entry) cut(n *yaml.Node) {
	f := faults.Cut{}
	direction := "both"
	e.l.mapping(n, "cut", field{"from", e.selectors("from", &f.From), true}, field{"to", e.selectors("to", &f.To), true},
		field{"direction", e.l.word("direction", &direction, "both", "one-way"), false})
	e.apart(n, f.From, f.To)
	f.OneWay = direction == "one-way"
	e.p.Fault = f
}

func (e *entry) link(n *yaml.Node) {
	f := faults.Link{}
	s := &f.Shape
	before := e.l.Errors()
	e.l.mapping(n, "link", field{"between", e.selectors("between", &f.A), true}, field{"and", e.selectors("and", &f.B), true},
		field{"latency", e.l.duration("latency", &s.Latency), false},
		field{"jitter", e.l.duration("jitter", &s.Jitter), false},
		field{"loss", parsed(&e.l.reader, "loss", &s.LossPPM, percents()), false},
		field{"bandwidth", parsed(&e.l.reader, "bandwidth", &s.Bandwidth, bandwidths()), false})
	e.apart(n, f.A, f.B)
	if *s == (faults.LinkShape{}) && e.l.Errors() == before {
		e.l.errorAt(n, "link changes nothing: give latency, jitter, loss or bandwidth")
	}
	e.p.Fault = f
}

func (e *entry) diskError(n *yaml.Node) {
	f := faults.DiskIO{}
	x := &f.Error
	before := e.l.Errors()
	e.l.mapping(n, "disk_error", field{"node", e.disk("node", &f.Node), true},
		field{"op", e.l.word("op", &x.Op, "read", "write", "sync"), true},
		field{"file", e.l.text("file", &x.Match), false},
		field{"nth", count(&e.l.reader, "nth", 1, 1_000_000_000, &x.Nth), false},
		field{"drop_dirty", e.l.boolean("drop_dirty", &x.DropDirty), false})
	if x.DropDirty && x.Op != "sync" && e.l.Errors() == before {
		e.l.errorAt(n, "drop_dirty says what a failed sync leaves; op must be sync")
	}
	e.p.Fault = f
}

func (e *entry) failpoint(n *yaml.Node) {
	f := faults.Failpoint{}
	var siteNode, termNode = n, n
	e.l.mapping(n, "failpoint", field{"node", e.disk("node", &f.Node), true},
		field{"site", e.l.at(&siteNode, e.l.textOf(oneWord(siteNames()), "site", &f.Site)), true},
		field{"term", e.l.at(&termNode, e.l.text("term", &f.Term)), true})
	site, ok := point.Parse(f.Site)
	if !ok {
		if f.Site != "" {
			e.l.errorAt(siteNode, "unknown failpoint %q%s", f.Site, suggest(f.Site, siteNames()))
		}
	} else if err := point.Check(site, f.Term); err != nil && f.Term != "" {
		e.l.errorAt(termNode, "term: %v", err)
	}
	e.p.Fault = f
}

func siteNames() (names []string) {
	for _, s := range point.Sites() {
		names = append(names, s.String())
	}
	return names
}
