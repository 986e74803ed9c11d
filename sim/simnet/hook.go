package simnet

import (
	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// Message is a request or response about to be delivered.
type Message struct {
	From, To    string
	Response    bool // also a push
	Conn        step.ConnID
	Correlation int32
	Body        step.Message
	// ID names it if it is held.
	ID uint64
}

// Key is the API key of a Kafka message, -1 of others.
func (m *Message) Key() int16 {
	if k, ok := m.Body.(interface{ Key() int16 }); ok {
		return k.Key()
	}
	return -1
}

// Verb is what to do with a message. All verbs keep the order of its connection:
// what was sent behind it comes behind it.
type Verb uint8

// The verbs.
const (
	Pass  Verb = iota
	Delay      // deliver it Action.By later
	Hold       // keep it until Release: messages of other connections pass it
	Reset      // reset the connection instead
	Lose       // nothing of this connection arrives in this direction from here on
)

// Action is a hook's decision.
type Action struct {
	Verb Verb
	By   kafka.Nanos
}

type hook struct{ f func(*Message) Action }

// OnDeliver adds a hook that is asked once about each request and response when it
// arrives, before the receiver has it. The first that does not pass a message
// decides. Hooks may crash actors and change rules. The returned func removes it.
func (n *Net) OnDeliver(f func(*Message) Action) (remove func()) {
	h := &hook{f}
	n.hooks = append(n.hooks, h)
	return func() {
		for i, x := range n.hooks {
			if x == h {
				n.hooks = append(n.hooks[:i:i], n.hooks[i+1:]...)
				return
			}
		}
	}
}

// Filter selects messages.
type Filter struct {
	From, To []string // nil is everybody
	// Keys are API keys; nil is every message, Kafka's or not.
	Keys                []kmsg.Key
	Requests, Responses bool
}

func (f *Filter) matches(m *Message) bool {
	if m.Response && !f.Responses || !m.Response && !f.Requests || !all(f.From, m.From) || !all(f.To, m.To) {
		return false
	}
	for _, k := range f.Keys {
		if k.Int16() == m.Key() {
			return true
		}
	}
	return f.Keys == nil
}

// Affect does the action to every message that the filter selects, until lifted
// (N29); what it held is then released.
func (n *Net) Affect(f Filter, a Action) (lift func()) {
	var ids []uint64
	remove := n.OnDeliver(func(m *Message) Action {
		if !f.matches(m) {
			return Action{}
		}
		if a.Verb == Hold {
			ids = append(ids, m.ID)
		}
		return a
	})
	return func() {
		remove()
		for _, id := range ids {
			n.Release(id)
		}
		ids = nil
	}
}

type heldMessage struct {
	id   uint64
	conn *conn
	gen  uint32
	dir  int
}

// Held counts the messages held.
func (n *Net) Held() int { return len(n.held) }

// Release lets a held message go on; false if there is no such.
func (n *Net) Release(id uint64) bool {
	for i, h := range n.held {
		if h.id == id {
			n.held = append(n.held[:i], n.held[i+1:]...)
			if h.conn.gen == h.gen && h.conn.dir[h.dir].held {
				h.conn.dir[h.dir].held = false
				n.expect(h.conn, h.dir)
			}
			return true
		}
	}
	return false
}

// ReleaseAll releases every held message, oldest first.
func (n *Net) ReleaseAll() {
	for len(n.held) > 0 {
		n.Release(n.held[0].id)
	}
}

// pass asks the hooks about the head of a direction, once; false if it does not
// arrive now.
func (n *Net) pass(c *conn, d int) bool {
	x := &c.dir[d]
	head := x.q.at(0)
	if head.seen || head.kind != msgRequest && head.kind != msgReply {
		return true
	}
	head.seen = true
	n.holds++
	m := Message{From: n.k.Name(c.end[d].actor), To: n.k.Name(c.end[1-d].actor), Response: head.kind == msgReply,
		Conn: c.end[1-d].id, Correlation: head.corr, Body: head.body, ID: n.holds}
	gen := c.gen
	var a Action
	for i := 0; i < len(n.hooks) && a.Verb == Pass; i++ {
		a = n.hooks[i].f(&m)
		if c.gen != gen || x.q.n == 0 || x.next != (kernel.Handle{}) {
			return false // the hook ended the connection, or what was on its way
		}
	}
	switch a.Verb {
	case Delay:
		x.q.at(0).arrive = n.k.Now() + a.By
		x.last = max(x.last, x.q.at(0).arrive)
		n.expect(c, d)
	case Hold:
		x.held = true
		n.held = append(n.held, heldMessage{m.ID, c, gen, d})
	case Reset:
		n.resetBoth(c)
	case Lose:
		x.black = true
		n.stall(c, d)
	}
	return a.Verb == Pass
}
