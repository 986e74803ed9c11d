package zookeeper

import (
	"slices"

	"github.com/simkafka/simkafka/model/step"
)

// batch is one Do call.
type batch struct {
	reqs    []Request
	results [][]Result
	left    int
	waiter  Waiter
}

func (b *batch) resume(in *step.Input, out *step.Effects) {
	if b.waiter != nil {
		b.waiter.Resume(in, out, b.results)
	}
}

// call is one request of a batch.
type call struct {
	batch       *batch
	index       int32
	correlation int32
}

// calls are the unanswered requests in order: the first sent of them are on the
// wire. Answers come in that order, as the server serves a connection in order.
type calls struct {
	queue []call
	sent  int
	// lastCorrelation numbers the requests of all connections.
	lastCorrelation int32
	closeSent       bool
	failed          []*batch
}

// Correlations of the requests that are not calls; ZooKeeper uses the same numbers
// for pings and setWatches.
const (
	xidPush    = -1
	xidPing    = -2
	xidConnect = -3
	xidClose   = -4
	xidWatches = -8
)

func (q *calls) add(b *batch) {
	for i, req := range b.reqs {
		checkRequest(req)
		q.queue = append(q.queue, call{batch: b, index: int32(i)})
	}
}

// checkRequest asserts what callers owe: a read stands alone.
func checkRequest(req Request) {
	if len(req) == 0 {
		panic("zookeeper: empty request")
	}
	for i := range req {
		if len(req) > 1 && !req[i].Type.isWrite() {
			panic("zookeeper: a read in a multi: " + req[i].Path)
		}
	}
}

// pump puts requests on the wire, at most MaxInFlight (zookeeper.max.in.flight.requests),
// and then the close.
func (c *Client) pump(in *step.Input, out *step.Effects) {
	if c.state != stateConnected {
		return
	}
	q := &c.calls
	for q.sent < len(q.queue) && q.sent < c.cfg.MaxInFlight {
		next := &q.queue[q.sent]
		q.sent++
		q.lastCorrelation = (q.lastCorrelation + 1) & 0x7fffffff
		next.correlation = q.lastCorrelation
		c.send(in, out, next.correlation, &OpsRequest{Ops: next.batch.reqs[next.index]})
	}
	if c.closing && !q.closeSent && q.sent == len(q.queue) {
		q.closeSent = true
		c.send(in, out, xidClose, &CloseRequest{})
	}
}

func (c *Client) send(in *step.Input, out *step.Effects, correlation int32, m step.Message) {
	c.lastSend = in.Now
	out.Request(c.conn, correlation, m)
}

// answered takes the answer to the oldest request on the wire.
func (c *Client) answered(in *step.Input, out *step.Effects, m *OpsResponse) {
	q := &c.calls
	if q.sent == 0 || q.queue[0].correlation != in.Correlation {
		panic("zookeeper: an answer out of order")
	}
	done := q.queue[0]
	q.queue[0] = call{}
	q.queue = q.queue[1:]
	q.sent--
	c.lastZxid = max(c.lastZxid, m.Zxid)
	b := done.batch
	c.watches.answered(b.reqs[done.index], m.Results)
	b.results[done.index] = m.Results
	b.left--
	c.pump(in, out)
	if b.left == 0 {
		b.resume(in, out)
	}
}

// failAll answers everything pending with SessionExpired, batches in order.
func (c *Client) failAll(in *step.Input, out *step.Effects) {
	queue := c.calls.queue
	c.calls.queue, c.calls.sent = nil, 0
	for _, call := range queue {
		b := call.batch
		b.results[call.index] = expiredResults(b.reqs[call.index])
		if b.left--; b.left == 0 {
			b.resume(in, out)
		}
	}
}

func expiredResults(req Request) []Result {
	results := make([]Result, len(req))
	for i := range req {
		results[i] = Result{Code: SessionExpired, Path: req[i].Path}
	}
	return results
}

// failLater answers a batch that cannot be sent, by a timer: a waiter is never
// resumed inside its own Do.
func (c *Client) failLater(in *step.Input, out *step.Effects, b *batch) {
	c.calls.failed = append(c.calls.failed, b)
	if len(c.calls.failed) == 1 {
		out.SetTimer(c.cfg.Lane, in.Now, c.cfg.TimerBase+timerFailed, 0, nil)
	}
}

func (c *Client) resumeFailed(in *step.Input, out *step.Effects) {
	failed := c.calls.failed
	c.calls.failed = nil
	for _, b := range failed {
		for i, req := range b.reqs {
			b.results[i] = expiredResults(req)
		}
		b.resume(in, out)
	}
	if c.state == stateClosed && c.closing {
		c.closing = false
		c.tell(Ended, "")
	}
}

// clientWatches are the watches that the server should hold for this session, to
// be restored on another connection (Z-4). Each list is sorted.
type clientWatches struct{ data, exists, child []string }

// answered notes the watch that a read left.
func (w *clientWatches) answered(req Request, results []Result) {
	if len(req) != 1 || !req[0].Watch {
		return
	}
	path, code := req[0].Path, results[0].Code
	switch {
	case req[0].Type == OpExists && code == NoNode:
		w.exists = insertSorted(w.exists, path)
	case code != OK:
	case req[0].Type == OpGetChildren:
		w.child = insertSorted(w.child, path)
	default:
		w.data = insertSorted(w.data, path)
	}
}

// fired removes the watches that an event used up.
func (w *clientWatches) fired(t EventType, path string) {
	if t != ChildrenChanged {
		w.data = removeSorted(w.data, path)
		w.exists = removeSorted(w.exists, path)
	}
	if t == ChildrenChanged || t == Deleted {
		w.child = removeSorted(w.child, path)
	}
}

// restore is the request that sets them again, nil if there are none.
func (w *clientWatches) restore(zxid int64) *SetWatchesRequest {
	if len(w.data)+len(w.exists)+len(w.child) == 0 {
		return nil
	}
	return &SetWatchesRequest{Zxid: zxid, Data: slices.Clone(w.data), Exists: slices.Clone(w.exists), Child: slices.Clone(w.child)}
}
