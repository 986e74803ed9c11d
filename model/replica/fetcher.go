package replica

import (
	"slices"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// FetcherConfig says where a fetcher runs and whom it asks.
type FetcherConfig struct {
	Leader kafka.NodeID
	Addr   step.Addr // of Leader
	Lane   step.Lane // the fetcher's own
	// Client is of the lane and used by nobody else.
	Client *netclient.Client
	// Timer is the fetcher's kind of timer and of Done continuation on its lane.
	Timer step.TimerKind
}

// FetcherIndex is the fetcher, of count per leader, that a partition belongs to
// (F-1).
func FetcherIndex(tp kafka.TopicPartition, count int) int {
	h := 31*kafka.JavaHash(tp.Topic) + tp.Partition
	if h == -1<<31 {
		return 0 // Utils.abs of the one int32 without an opposite
	}
	return int(max(h, -h)) % count
}

// Fetcher copies partitions from one leader: ReplicaFetcherThread, on a lane of
// its own (cluster 2.1). It has one request in flight, or is busy appending what
// came, or rests.
type Fetcher struct {
	env  *Env
	cfg  FetcherConfig
	rule truncator

	parts []fetchState // sorted by partition
	// next is the index of the partition that the next fetch asks for first, so that
	// none starves behind those that fill the response (L-19). Invariant: below
	// len(parts), or 0.
	next  int
	phase phase
	// asked are the partitions of the request in flight, in its order.
	asked []askedFor
	sent  *fetchRequest // in flight, or not answered
	spare *fetchRequest // for the next fetch
	// visible are the appends and high watermarks that wait for this step's time.
	visible []visible
	timer   step.TimerRef
}

// phase is what a fetcher waits for.
type phase uint8

const (
	resting       phase = iota // a timer, or partitions
	askingEpochs               // OffsetForLeaderEpoch
	askingFetch                // Fetch
	askingOffsets              // ListOffsets, after OFFSET_OUT_OF_RANGE
	busy                       // the disk time of what it appended
)

type partState uint8

const (
	truncating partState = iota
	fetching
	outOfRange // F-8: needs the leader's end
	beforeLog  // F-8: needs the leader's start
)

// fetchState is one partition's (PartitionFetchState).
type fetchState struct {
	p *Partition
	// offset is what to fetch next: the local log end; while truncating the high
	// watermark with which that began.
	offset       kafka.Offset
	delayedUntil kafka.Nanos
	epoch        kafka.LeaderEpoch // current
	lastFetched  kafka.LeaderEpoch // of the last record, -1 unknown
	state        partState
}

func (s *fetchState) ready(state partState, now kafka.Nanos) bool {
	return s.state == state && s.delayedUntil <= now
}

// askedFor is a partition as a request named it.
type askedFor struct {
	p      *Partition
	offset kafka.Offset
	epoch  kafka.LeaderEpoch
	at     int32 // its index in parts then
}

type visible struct {
	p                       *Partition
	end, hw, leaderLogStart kafka.Offset
}

// NewFetcher makes a fetcher without partitions.
func NewFetcher(env *Env, cfg FetcherConfig) *Fetcher {
	return &Fetcher{env: env, cfg: cfg, rule: truncatorOf(env.Config.Profile.Truncation)}
}

// Len counts the partitions, failed ones not among them.
func (f *Fetcher) Len() int { return len(f.parts) }

// Add begins, or begins anew after a leader change, to follow p's leader (F-2). A
// partition with the same leader epoch goes on as it is. It may be called on any
// lane.
func (f *Fetcher) Add(in *step.Input, out *step.Effects, p *Partition) {
	i, found := f.find(p)
	if found && f.parts[i].p == p && f.parts[i].epoch == p.leaderEpoch {
		return
	}
	s := f.initial(p)
	if found {
		f.parts[i] = s
	} else {
		f.parts = slices.Insert(f.parts, i, s)
	}
	if f.phase == resting {
		f.wake(out, in.Now)
	}
}

func (f *Fetcher) initial(p *Partition) fetchState {
	s := fetchState{p: p, epoch: p.leaderEpoch, lastFetched: kafka.NoLeaderEpoch, delayedUntil: longAgo}
	latest := p.log.LatestEpoch()
	if f.rule.onFetch() && latest != kafka.NoLeaderEpoch {
		s.state, s.offset, s.lastFetched = fetching, p.log.LogEndOffset(), latest
		return s
	}
	s.state, s.offset = truncating, p.log.HighWatermark()
	return s
}

// Remove stops following. What the partition has appended becomes visible at
// once: whoever changes its role waits for the fetcher.
// It may be called on any lane. The error is vfs.ErrCrashed.
func (f *Fetcher) Remove(in *step.Input, out *step.Effects, p *Partition) error {
	var err error
	for i := range f.visible {
		if v := &f.visible[i]; v.p == p {
			err = f.show(in, out, *v)
			v.p = nil
		}
	}
	if i, found := f.find(p); found && f.parts[i].p == p {
		f.removeAt(i)
	}
	return err
}

func (f *Fetcher) removeAt(i int) {
	f.parts = slices.Delete(f.parts, i, i+1)
	if f.next > i {
		f.next--
	}
	if f.next == len(f.parts) {
		f.next = 0
	}
}

func (f *Fetcher) find(p *Partition) (int, bool) {
	return slices.BinarySearchFunc(f.parts, p.TP, func(s fetchState, tp kafka.TopicPartition) int {
		return s.p.TP.Compare(tp)
	})
}

func (f *Fetcher) wake(out *step.Effects, at kafka.Nanos) {
	out.CancelTimer(&f.timer)
	f.timer = out.SetTimer(f.cfg.Lane, at, f.cfg.Timer, 0, nil)
}

// Handle takes the inputs of the fetcher's lane. An error is vfs.ErrCrashed:
// other log failures go to the Watcher.
func (f *Fetcher) Handle(in *step.Input, out *step.Effects) (mine bool, err error) {
	switch {
	case in.Kind == step.Done && in.Timer == f.cfg.Timer:
		f.phase = resting
		return true, f.showAndRun(in, out)
	case in.Kind == step.Timer && in.Timer == f.cfg.Timer:
		f.timer = step.TimerRef{}
		if f.phase != resting {
			return true, nil
		}
		return true, f.run(in, out)
	}
	done, mine := f.cfg.Client.Handle(in, out)
	for i := range done {
		if err := f.onCompletion(in, out, &done[i]); err != nil {
			return mine, err
		}
	}
	return mine, nil
}

// run is one turn of the thread's loop: truncate, else fetch, else rest (F-1).
func (f *Fetcher) run(in *step.Input, out *step.Effects) error {
	if f.askOffsets(in, out) {
		return nil
	}
	if err := f.truncateToInitial(in, out); err != nil {
		return err
	}
	if f.askEpochs(in, out) || f.askFetch(in, out) {
		return nil
	}
	if len(f.parts) > 0 {
		f.wake(out, in.Now+f.env.Config.ReplicaFetchBackoff)
	}
	return nil
}

// connect reports whether a request can be sent; if not, it rests until the
// reconnect backoff is over.
func (f *Fetcher) connect(in *step.Input, out *step.Effects) bool {
	if f.cfg.Client.Connect(in, out, f.cfg.Addr) {
		return true
	}
	f.wake(out, f.cfg.Client.BackoffUntil(f.cfg.Addr))
	return false
}

func (f *Fetcher) send(in *step.Input, out *step.Effects, req kmsg.Request, next phase) {
	out.CancelTimer(&f.timer)
	f.phase = next
	f.cfg.Client.Send(in, out, f.cfg.Addr, req, f.env.Config.ReplicaSocketTimeout, nil)
}

func (f *Fetcher) onCompletion(in *step.Input, out *step.Effects, c *netclient.Completion) error {
	f.phase = resting
	var err error
	switch resp := c.Response.(type) {
	case *kmsg.FetchResponse:
		err = f.onFetch(in, out, resp)
		f.sent, f.spare = nil, f.sent
	case *kmsg.OffsetForLeaderEpochResponse:
		err = f.onEpochs(in, out, resp)
	case *kmsg.ListOffsetsResponse:
		err = f.onOffsets(in, out, resp)
	default:
		f.onNoAnswer(in, c.Request)
	}
	if err != nil {
		return err
	}
	if f.phase == busy {
		out.Done(f.cfg.Timer, 0, nil)
		return nil
	}
	return f.showAndRun(in, out)
}

func (f *Fetcher) showAndRun(in *step.Input, out *step.Effects) error {
	if err := f.showAll(in, out); err != nil {
		return err
	}
	return f.run(in, out)
}

// state is a partition's, nil if it is followed no more.
func (f *Fetcher) state(p *Partition) *fetchState {
	i, found := f.find(p)
	if !found || f.parts[i].p != p {
		return nil
	}
	return &f.parts[i]
}

// stateOf is state for a partition that is mostly where it was when asked for.
func (f *Fetcher) stateOf(a *askedFor) *fetchState {
	if int(a.at) < len(f.parts) && f.parts[a.at].p == a.p {
		return &f.parts[a.at]
	}
	return f.state(a.p)
}

// asker is the state of a partition that a request asked for, nil if it is gone or
// has another leader epoch since.
func (f *Fetcher) asker(a *askedFor) *fetchState {
	s := f.stateOf(a)
	if s == nil || s.epoch != a.epoch {
		return nil
	}
	return s
}

func (f *Fetcher) showAll(in *step.Input, out *step.Effects) error {
	for i := range f.visible {
		if f.visible[i].p == nil {
			continue
		}
		if err := f.show(in, out, f.visible[i]); err != nil {
			return err
		}
	}
	if len(f.visible) > 1 { // the next one takes the place of the first
		clear(f.visible[1:])
	}
	f.visible = f.visible[:0]
	return nil
}

func (f *Fetcher) show(in *step.Input, out *step.Effects, v visible) error {
	if err := v.p.publishAsFollower(in, out, v.end, v.hw, v.leaderLogStart); err != nil {
		return f.onLogError(in, out, v.p, err)
	}
	return nil
}
