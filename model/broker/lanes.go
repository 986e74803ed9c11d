package broker

import (
	"strconv"

	"github.com/simkafka/simkafka/model/step"
)

// The lanes, in the order of Lanes. Boot and Terminate come to the first.
const (
	laneMain step.Lane = iota
	laneRequests
	laneZK
	laneScheduler
	laneAlter
	laneExpiration
	laneFetchers // the first of maxFetcherLanes
)

// maxFetcherLanes bounds the lanes for fetchers; beyond that two fetchers share
// one. It allows 65 brokers with one fetcher each.
const maxFetcherLanes = 64

// laneCleaner is the first of log.cleaner.threads; they come after those for fetchers.
const laneCleaner = laneFetchers + maxFetcherLanes

// backgroundThreads is background.threads.
const backgroundThreads = 10

// Kinds of timers and continuations.
const (
	// timerCall runs Ref, a call, on the lane that it was posted to.
	timerCall step.TimerKind = iota + 1
	// timerHeld handles Ref, a request that came before the broker served.
	timerHeld
	timerLoad     // the next piece of loading
	timerRegister // another attempt to register
	timerStop     // the next piece of a clean stop
	timerBackoff  // controlled.shutdown.retry.backoff.ms is over
	timerShutdownNet
	timerAlter
	timerAlterNet
	timerProduce  // a parked produce may have waited long enough
	timerFetch    // the same for a fetch
	timerCreation // the same for a topic creation
	timerDeletion // the same for a deletion of records
	doneProduce   // Ref: the appends of a produce are through

	timerHW // the periodic tasks; Arg is when it was due
	timerRecoveryPoints
	timerLogStart
	timerFlush
	timerRetention
	timerProducers
	timerISR
	timerFlushOn     // Ref: kafka.TopicPartition, the last log that was flushed
	timerRetainOn    // Ref: kafka.TopicPartition, the last log that was shortened
	timerDeleteFiles // Ref: []string
	timerDeleteDir   // Ref: string
	timerClean       // the next piece of a cleaning, or another look for a log to clean

	timerGroups        // a deadline of the group coordinator is due
	timerGroupTask     // its next task
	timerExpireOffsets // offsets.retention.check.interval.ms is over
	timerRemoval       // a DeleteTopics request may have waited long enough

	timersZK         step.TimerKind = 40
	timersController step.TimerKind = 50
	// timersFetchers: each fetcher ever made has two kinds, round and round.
	timersFetchers step.TimerKind = 100
)

// fetcherGenerations is after how many fetchers their kinds of timers come again.
const fetcherGenerations = 10000

// Lanes implements step.Node.
func (b *Broker) Lanes() []step.LaneSpec {
	lanes := make([]step.LaneSpec, laneFetchers, int(laneCleaner)+1)
	lanes[laneMain] = step.LaneSpec{Name: "main", Workers: 1}
	lanes[laneRequests] = step.LaneSpec{Name: "requests", Workers: max(1, b.cfg.NumIOThreads), Serves: true}
	lanes[laneZK] = step.LaneSpec{Name: "zookeeper", Workers: 1}
	lanes[laneScheduler] = step.LaneSpec{Name: "scheduler", Workers: backgroundThreads}
	lanes[laneAlter] = step.LaneSpec{Name: "alter", Workers: 1}
	lanes[laneExpiration] = step.LaneSpec{Name: "expiration", Workers: 1}
	for i := range maxFetcherLanes {
		lanes = append(lanes, step.LaneSpec{Name: "fetcher-" + strconv.Itoa(i), Workers: 1})
	}
	lanes = append(lanes, step.LaneSpec{Name: "cleaner", Workers: 1})
	for i := 1; i < b.cfg.CleanerThreads; i++ {
		lanes = append(lanes, step.LaneSpec{Name: "cleaner-" + strconv.Itoa(i), Workers: 1})
	}
	return append(lanes, step.LaneSpec{Name: "groups", Workers: 1})
}

// laneGroups is the last lane.
func (b *Broker) laneGroups() step.Lane { return laneCleaner + step.Lane(max(1, b.cfg.CleanerThreads)) }

// call is a piece of work for some lane.
type call func(in *step.Input, out *step.Effects) error

// post runs c on a lane, at once but not before the present step's time is spent.
func post(in *step.Input, out *step.Effects, lane step.Lane, c call) {
	out.SetTimer(lane, in.Now, timerCall, 0, c)
}

func (b *Broker) dispatch(in *step.Input, out *step.Effects) error {
	if b.shutdown.stopping && in.Lane != laneMain && in.Lane != laneZK {
		return nil
	}
	if in.Kind == step.Timer && in.Timer == timerCall {
		return in.Ref.(call)(in, out)
	}
	if in.Kind == step.Done && in.Timer == doneProduce {
		b.appended(in, out, in.Ref.(*produceOp))
		return nil
	}
	switch in.Lane {
	case laneRequests:
		return b.requestsLane(in, out)
	case laneZK:
		return b.zkLane(in, out)
	case laneMain:
		return b.mainLane(in, out)
	case laneScheduler:
		return b.schedulerLane(in, out)
	case laneAlter:
		b.alterLane(in, out)
		return nil
	case laneExpiration:
		return b.expirationLane(in, out)
	}
	switch {
	case in.Lane == b.laneGroups():
		return b.groupsLane(in, out)
	case in.Lane >= laneCleaner:
		return b.cleanerLane(in, out, &b.cleaner.threads[in.Lane-laneCleaner])
	}
	return b.fetchers.handle(in, out)
}

func (b *Broker) mainLane(in *step.Input, out *step.Effects) error {
	switch in.Kind {
	case step.Boot:
		post(in, out, laneZK, b.connect)
		return nil
	case step.Terminate:
		return b.terminate(in, out)
	case step.Timer:
		switch in.Timer {
		case timerLoad:
			return b.load(in, out)
		case timerStop:
			return b.stopLogs(in, out)
		case timerBackoff:
			b.controlledShutdown(in, out)
			return nil
		}
	}
	return b.shutdownInput(in, out)
}

func (b *Broker) alterLane(in *step.Input, out *step.Effects) {
	switch {
	case b.alter != nil:
		b.alter.Handle(in, out)
	case b.alterZK != nil:
		b.alterZK.Handle(in, out)
	}
}
