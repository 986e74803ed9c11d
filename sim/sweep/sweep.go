package sweep

import (
	"errors"
	"time"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/cluster"
)

// Options are how a sweep is run; they do not change what it finds.
type Options struct {
	Jobs int // workers; at least 1
	// Stop is asked between runs: a word of Footer.State ends the sweep, "" goes on.
	// The runs that have begun end first.
	Stop func() string
	// Progress, if not nil, is told about every run and ten times a second.
	Progress func(Progress)
	// Keep, if not nil, is called in the order of k for the first KeepEach failures of
	// each signature, at most KeepAll in all. Its error ends the sweep.
	Keep              func(*Failure) error
	KeepEach, KeepAll int
	// Simulate is cluster.Run if nil.
	Simulate Simulate
}

// Progress is how far a sweep is. Of runs that a resumed file held, too.
type Progress struct {
	Done, Total        uint64 // Total 0: as many as the time allows
	Now                uint64 // done since the start of this process
	Failed             uint64 // runs whose verdict is not pass
	Violated, Findings int    // of these, those not only inconclusive; different signatures
}

// backlog is how many runs, for each worker, may wait for an earlier one to end
// before they can be written in order. It bounds memory.
const backlog = 64

// Run does what the file does not hold yet, in the order of k, and ends the file with
// a footer. It returns the footer's state. The file is the caller's to close.
func Run(plan *Plan, file *File, opts Options) (state string, err error) {
	if opts.Simulate == nil {
		opts.Simulate = cluster.Run
	}
	s := &sweep{plan: plan, opts: opts, file: file, digest: plan.Source.Digest(), kept: make(map[string]int)}
	s.progress.Total = plan.Shard.Runs(plan.Count)
	for i := range file.Lines {
		if err := s.note(&file.Lines[i]); err != nil {
			return "", err
		}
	}
	if file.Footer != nil && file.Footer.State == Complete && plan.Count > 0 {
		return Complete, file.end(*file.Footer) // which opening it has cut off
	}
	begin := time.Now()
	state, err = s.work()
	if err != nil {
		return "", errors.Join(err, file.sync())
	}
	return state, file.end(Footer{Done: s.progress.Done, State: state, Timing: &Timing{Wall: time.Since(begin).Nanoseconds(), Jobs: opts.Jobs}})
}

// sweep is one Run. Everything but one and run belongs to the goroutine that called it.
type sweep struct {
	plan     *Plan
	opts     Options
	digest   Digest
	file     *File
	progress Progress
	kept     map[string]int // failures by signature, with a bound
	keptAll  int
}

// work hands out runs and writes what comes back, in order.
func (s *sweep) work() (state string, err error) {
	jobs, lines := make(chan uint64), make(chan Line)
	defer close(jobs)
	for range max(s.opts.Jobs, 1) {
		go func() {
			warm := new(cluster.Warm)
			for k := range jobs {
				lines <- s.one(k, warm)
			}
		}()
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	step := uint64(s.plan.Shard.Of)
	next := s.file.next(s.plan.Shard)
	written, running := next, 0
	waiting := make(map[uint64]Line)
	for {
		if state == "" && err == nil {
			state = s.stop(next)
		}
		var send chan uint64
		if state == "" && err == nil && (next-written)/step < uint64(backlog*max(s.opts.Jobs, 1)) {
			send = jobs
		}
		if send == nil && running == 0 {
			return state, err
		}
		select {
		case send <- next:
			next += step
			running++
		case l := <-lines:
			running--
			waiting[l.K] = l
			for l, ok := waiting[written]; ok && err == nil; l, ok = waiting[written] {
				delete(waiting, written)
				written += step
				err = errors.Join(s.file.add(l), s.note(&l))
				s.progress.Now++
				s.tell()
			}
		case <-tick.C:
			s.tell()
		}
	}
}

// stop is why no further run begins.
func (s *sweep) stop(next uint64) string {
	if s.plan.Count > 0 && next >= s.plan.Count {
		return Complete
	}
	if s.opts.Stop != nil {
		return s.opts.Stop()
	}
	return ""
}

func (s *sweep) tell() {
	if s.opts.Progress != nil {
		s.opts.Progress(s.progress)
	}
}

// note counts a line and keeps its failure.
func (s *sweep) note(l *Line) error {
	s.progress.Done++
	if !l.failed() {
		return nil
	}
	s.progress.Failed++
	if l.Verdict != outcome.Inconclusive {
		s.progress.Violated++
	}
	n := s.kept[l.Signature]
	if n == 0 {
		if len(s.kept) >= maxFindings {
			return nil
		}
		s.progress.Findings++
	}
	s.kept[l.Signature] = n + 1
	if s.opts.Keep == nil || n >= s.opts.KeepEach || s.keptAll >= s.opts.KeepAll {
		return nil
	}
	s.keptAll++
	return s.opts.Keep(s.failure(*l))
}

// maxFindings bounds the signatures that are told apart.
const maxFindings = 10_000
