package simnet

import (
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// The two ends of a connection. Direction 0 carries what the opener sends.
const (
	opener   = 0
	acceptor = 1
)

// conn is one TCP connection, or the attempt to make one.
type conn struct {
	index  uint32
	gen    uint32 // differs for each connection that used this place
	opened bool
	end    [2]end
	dir    [2]dir
	reset  [2]kernel.Handle // a reset on its way to an end

	// While connecting.
	tries    int
	synSent  kafka.Nanos
	timeout  kernel.Handle // the attempt's end
	progress kernel.Handle // its next event
	parent   uint64

	// What waits at the accepting side.
	serving bool // a request was given out and is not answered
	inbox   msgRing
}

// end is one side of a connection.
type end struct {
	actor kernel.ActorID
	id    step.ConnID // 0 until accepted
	lane  step.Lane
	inc   int32
	live  bool // the actor's process has this end
	told  bool // its going was sent to the other side, or will be noticed there
}

// dir is one direction of a connection.
type dir struct {
	link *link
	q    msgRing       // on the wire, in order; before the connection is open: waiting
	next kernel.Handle // arrival of the head
	last kafka.Nanos   // arrival of the newest: later ones come no earlier
	// lost: the head was lost and waits for a retransmission that gets through.
	lost   bool
	giveUp kernel.Handle
	// black: nothing will ever get through (half-open).
	black bool
	// clogged, held: the head has arrived at the link's end and is kept there.
	clogged bool
	held    bool
}

type msgKind uint8

const (
	msgRequest msgKind = iota
	msgReply
	msgAccept // the last packet of the handshake
	msgFin    // the sender's end is gone: err says how
)

// loss says why a message needs a retransmission that is not yet computed.
type loss uint8

const (
	notLost     loss = iota
	intoSilence      // sent while the link was cut
	byDraws          // every retransmission up to the sender's giving up was drawn as lost
)

// msg is one message on a connection.
type msg struct {
	kind   msgKind
	seen   bool // hooks have passed it
	lost   loss
	corr   int32
	size   int32
	body   step.Message
	err    error
	digest uint64
	parent uint64
	sent   kafka.Nanos
	arrive kafka.Nanos
}

// msgRing is a queue of messages that keeps its memory.
type msgRing struct {
	buf  []msg // length a power of two, or 0
	head int
	n    int
}

func (r *msgRing) at(i int) *msg { return &r.buf[(r.head+i)&(len(r.buf)-1)] }

func (r *msgRing) push(m *msg) *msg {
	if r.n == len(r.buf) {
		b := make([]msg, max(4, 2*len(r.buf)))
		for i := range r.n {
			b[i] = *r.at(i)
		}
		r.buf, r.head = b, 0
	}
	r.n++
	p := r.at(r.n - 1)
	*p = *m
	return p
}

func (r *msgRing) pop() msg {
	p := r.at(0)
	m := *p
	p.body, p.err = nil, nil
	r.head = (r.head + 1) & (len(r.buf) - 1)
	r.n--
	return m
}

// cut keeps the first keep messages.
func (r *msgRing) cut(keep int) {
	for r.n > keep {
		*r.at(r.n - 1) = msg{}
		r.n--
	}
}

// maxConns is the range of an event's argument.
const maxConns = 1 << 24

func (n *Net) newConn() *conn {
	if f := len(n.free); f > 0 {
		c := n.conns[n.free[f-1]]
		n.free = n.free[:f-1]
		return c
	}
	if len(n.conns) == maxConns {
		panic("simnet: too many connections")
	}
	c := &conn{index: uint32(len(n.conns)), gen: 1}
	n.conns = append(n.conns, c)
	return c
}

// release forgets a connection that neither side has any more.
func (n *Net) release(c *conn) {
	for _, h := range [...]kernel.Handle{c.timeout, c.progress, c.reset[0], c.reset[1],
		c.dir[0].next, c.dir[1].next, c.dir[0].giveUp, c.dir[1].giveUp} {
		n.k.Cancel(h)
	}
	q0, q1, inbox := c.dir[0].q, c.dir[1].q, c.inbox
	q0.cut(0)
	q1.cut(0)
	inbox.cut(0)
	*c = conn{index: c.index, gen: c.gen + 1}
	c.dir[0].q, c.dir[1].q, c.inbox = q0, q1, inbox
	n.free = append(n.free, c.index)
}

// idTable finds an actor's connections by their numbers, which only grow: pages
// of which the empty ones are let go.
type idTable struct{ pages []*idPage }

const pageSize = 64

type idPage struct {
	used int
	ref  [pageSize]uint32 // 0 none, else 1 + index*2 + end
}

func (n *Net) enter(c *conn, side int) {
	e := &c.end[side]
	for len(n.ends) <= int(e.actor) {
		n.ends = append(n.ends, idTable{})
	}
	t := &n.ends[e.actor]
	p := int(e.id) / pageSize
	for len(t.pages) <= p {
		t.pages = append(t.pages, nil)
	}
	if t.pages[p] == nil {
		t.pages[p] = new(idPage)
	}
	t.pages[p].ref[e.id%pageSize] = 1 + c.index*2 + uint32(side)
	t.pages[p].used++
	e.live = true
	e.inc = n.k.Incarnation(e.actor)
}

// drop takes an end away from its actor; it releases the connection when it was
// the last. False then.
func (n *Net) drop(c *conn, side int) bool {
	e := &c.end[side]
	if e.live {
		e.live = false
		t := &n.ends[e.actor]
		p := t.pages[int(e.id)/pageSize]
		p.ref[e.id%pageSize] = 0
		if p.used--; p.used == 0 {
			t.pages[int(e.id)/pageSize] = nil
		}
	}
	return n.keep(c)
}

// keep releases a connection that nobody has or will have, and reports whether it
// is still there.
func (n *Net) keep(c *conn) bool {
	if c.end[opener].live || c.end[acceptor].live || c.toBeAccepted() {
		return true
	}
	n.release(c)
	return false
}

// toBeAccepted: the handshake's last packet is on its way, whatever became of the
// opener.
func (c *conn) toBeAccepted() bool {
	return c.opened && c.end[acceptor].id == 0 && c.dir[0].q.n > 0 && c.dir[0].q.at(0).kind == msgAccept
}

// find is the connection that an actor knows by a number; nil if it has no such.
func (n *Net) find(a kernel.ActorID, id step.ConnID) (*conn, int) {
	if int(a) >= len(n.ends) {
		return nil, 0
	}
	t := &n.ends[a]
	p := int(id) / pageSize
	if p >= len(t.pages) || t.pages[p] == nil {
		return nil, 0
	}
	ref := t.pages[p].ref[id%pageSize]
	if ref == 0 {
		return nil, 0
	}
	return n.conns[(ref-1)/2], int((ref - 1) & 1)
}
