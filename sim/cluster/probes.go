package cluster

import (
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
)

// Probe names a rare state that a sweep should reach.
type Probe struct{ Name, Words string }

// probeID is a probe's place in the table.
type probeID uint8

const (
	probeTruncated probeID = iota
	probeTruncatedBelowHW
	probeTruncatedFully
	probeTruncatedToNothing
	probeHWStepsBack
	probeISRAtMin
	probeISRBelowMin
	probeISRAlone
	probeISRInFlightAtElection
	probeUnclean
	probePreferred
	probeLeaderless
	probeOldControllerWrites
	probeControllerResigned
	probeSessionExpired
	probeUncleanStart
	probeFencedForGood
	probeDirectoryOffline
	probeAfterAppend
	probeNotEnough
	probeOffsetNotAvailable
	probePositionReset
	probeUnknownOutcome
	probeRetried
	probeRetentionDeleted
	probeCleaned
	probeCleaningFailed
	numProbes
)

var probeTable = [numProbes]Probe{
	probeTruncated:             {"follower-truncated", "a follower cut records off"},
	probeTruncatedBelowHW:      {"truncated-below-own-high-watermark", "a follower cut below the high watermark that it knew"},
	probeTruncatedFully:        {"follower-began-anew", "a follower emptied its log and began at the leader's start"},
	probeTruncatedToNothing:    {"truncated-to-nothing", "a follower cut its whole log"},
	probeHWStepsBack:           {"high-watermark-stepped-back", "a leader took office with a lower high watermark than its predecessor had shown"},
	probeISRAtMin:              {"isr-at-minimum", "an in-sync set shrank to min.insync.replicas"},
	probeISRBelowMin:           {"isr-below-minimum", "an in-sync set shrank below min.insync.replicas"},
	probeISRAlone:              {"isr-leader-alone", "an in-sync set of several replicas shrank to one"},
	probeISRInFlightAtElection: {"isr-change-overtaken", "a leader changed while its ISR change was on its way"},
	probeUnclean:               {"unclean-election", "a replica outside of the in-sync set was elected"},
	probePreferred:             {"preferred-election", "leadership went back to the preferred replica"},
	probeLeaderless:            {"leaderless", "a partition had no leader"},
	probeOldControllerWrites:   {"deposed-controller-refused", "a write of a deposed controller was refused"},
	probeControllerResigned:    {"controller-resigned", "a controller gave up its office alive"},
	probeSessionExpired:        {"session-expired", "ZooKeeper ended a session"},
	probeUncleanStart:          {"recovered-after-unclean-stop", "a log with records was recovered"},
	probeFencedForGood:         {"fetcher-failed", "a follower stopped following a partition"},
	probeDirectoryOffline:      {"directory-offline", "a log directory failed"},
	probeAfterAppend:           {"not-enough-replicas-after-append", "a record was appended and could not be committed by enough replicas"},
	probeNotEnough:             {"not-enough-replicas", "an append was refused for the size of the in-sync set"},
	probeOffsetNotAvailable:    {"offset-not-available", "a new leader could not tell the latest offset yet"},
	probePositionReset:         {"position-reset", "a consumer's position jumped, other than at its start"},
	probeUnknownOutcome:        {"unknown-outcome", "a producer does not know whether its record is in the log"},
	probeRetried:               {"retried", "a batch was acknowledged after more than one attempt"},
	probeRetentionDeleted:      {"segment-deleted", "retention deleted a segment"},
	probeCleaned:               {"log-cleaned", "the cleaner compacted a log"},
	probeCleaningFailed:        {"cleaning-failed", "a cleaning was aborted"},
}

// Probes lists the rare states. A result counts those that a run reached; those that no
// run of a sweep reached are what its worlds do not try.
func Probes() []Probe { return append([]Probe(nil), probeTable[:]...) }

// probes counts hits from the facts of a run. Nothing depends on them.
type probes struct {
	hits   [numProbes]int64
	minISR map[string]int
	epoch  kafka.ControllerEpoch // of the controller in office
	parts  kafka.PartitionTable[probed]
}

// probed is what is remembered of a partition.
type probed struct {
	isr      int // size of the last committed in-sync set
	hw       kafka.Offset
	proposed bool // an ISR change is on its way
	leader   kafka.NodeID
}

func (p *probes) at(tp kafka.TopicPartition) *probed {
	if x := p.parts.Get(tp); x != nil {
		return x
	}
	x := &probed{leader: kafka.NoNode}
	p.parts.Put(tp, x)
	return x
}

func (p *probes) count(id probeID, when bool) {
	if when {
		p.hits[id]++
	}
}

func (p *probes) observe(e *event.Event) {
	switch e.Kind {
	case event.HighWatermark:
		if e.Flag {
			x := p.at(e.TP)
			x.hw = max(x.hw, e.HW)
		}
	case event.Truncated:
		p.count(probeTruncated, true)
		p.count(probeTruncatedBelowHW, e.Offset < p.at(e.TP).hw)
		p.count(probeTruncatedFully, e.Text == "full")
		p.count(probeTruncatedToNothing, e.Offset == 0)
	case event.BecameLeader:
		x := p.at(e.TP)
		p.count(probeHWStepsBack, e.HW < x.hw && e.LeaderEpoch > 0)
	case event.IsrProposed:
		p.at(e.TP).proposed = true
	case event.IsrCommitted:
		p.at(e.TP).proposed = false
	case event.PartitionChanged:
		p.partition(e)
	case event.LeaderElected:
		p.count(probePreferred, e.Text == "preferred")
		p.count(probeUnclean, e.Flag)
	case event.ControllerElected:
		p.epoch = max(p.epoch, e.ControllerEpoch)
	case event.ControlWrite:
		p.count(probeOldControllerWrites, !e.Flag && e.ControllerEpoch < p.epoch)
	case event.ReplicaLoaded:
		p.count(probeUncleanStart, e.Flag && e.LEO > e.LogStart)
	case event.ProduceAnswered:
		p.count(probeAfterAppend, e.Err == kafka.NotEnoughReplicasAfterAppend || e.Err == kafka.RequestTimedOut && e.Last >= 0)
		p.count(probeNotEnough, e.Err == kafka.NotEnoughReplicas)
	case event.OffsetAnswered:
		p.count(probeOffsetNotAvailable, e.Err == kafka.OffsetNotAvailable)
	case event.PositionReset:
		p.count(probePositionReset, e.Text != "start")
	case event.RecordFailed:
		p.count(probeUnknownOutcome, e.Flag)
	case event.RecordAcked:
		p.count(probeRetried, e.Index > 1)
	default:
		p.plain(e.Kind)
	}
}

// plain counts facts that are rare by themselves.
func (p *probes) plain(k event.Kind) {
	switch k {
	case event.ControllerResigned:
		p.hits[probeControllerResigned]++
	case event.SessionExpired:
		p.hits[probeSessionExpired]++
	case event.FetcherFailed:
		p.hits[probeFencedForGood]++
	case event.DirectoryOffline:
		p.hits[probeDirectoryOffline]++
	case event.SegmentDeleted:
		p.hits[probeRetentionDeleted]++
	case event.LogCleaned:
		p.hits[probeCleaned]++
	case event.CleaningFailed:
		p.hits[probeCleaningFailed]++
	}
}

func (p *probes) partition(e *event.Event) {
	x := p.at(e.TP)
	n, minISR := len(e.ISR), p.minISR[e.TP.Topic]
	p.count(probeISRAtMin, n == minISR && x.isr > n)
	p.count(probeISRBelowMin, n < minISR && x.isr >= minISR)
	p.count(probeISRAlone, n == 1 && x.isr > 1)
	p.count(probeLeaderless, e.Leader == kafka.NoNode && x.leader != kafka.NoNode)
	p.count(probeISRInFlightAtElection, x.proposed && x.leader != kafka.NoNode && e.Leader != x.leader)
	if e.Leader != x.leader {
		x.proposed = false
	}
	x.isr, x.leader = n, e.Leader
}

// fill adds the probes that were hit.
func (p *probes) fill(r *outcome.Result) {
	for i, n := range p.hits {
		if n > 0 {
			r.Probes = append(r.Probes, outcome.Count{Name: probeTable[i].Name, N: n})
		}
	}
}
