package report

import (
	"strconv"

	"github.com/simkafka/simkafka/model/event"
)

// field appends one key=value of an event, with the space before it.
type field func(b []byte, e *event.Event) []byte

func mark(yes, no string) field {
	return func(b []byte, e *event.Event) []byte {
		word := no
		if e.Flag {
			word = yes
		}
		if word == "" {
			return b
		}
		return append(append(b, ' '), word...)
	}
}

func number(key string, get func(*event.Event) int64) field {
	return func(b []byte, e *event.Event) []byte { return appendInt(b, key, get(e)) }
}

// The fields, each under the key that TraceHelp documents.
var (
	fTP field = func(b []byte, e *event.Event) []byte {
		b = append(append(b, " tp="...), e.TP.Topic...)
		b = append(b, '-')
		return strconv.AppendInt(b, int64(e.TP.Partition), 10)
	}
	fTopic field = func(b []byte, e *event.Event) []byte {
		b = append(append(b, " topic="...), e.TP.Topic...)
		return append(append(b, " id="...), e.TopicID.String()...)
	}
	fErr     field = func(b []byte, e *event.Event) []byte { return append(append(b, " err="...), e.Err.String()...) }
	fHit     field = func(b []byte, e *event.Event) []byte { return appendQuoted(b, "hit", e.Actor) }
	fText    field = func(b []byte, e *event.Event) []byte { return appendQuoted(b, "text", e.Text) }
	fCRC     field = func(b []byte, e *event.Event) []byte { return appendHex(appendKey(b, "crc"), uint64(e.CRC), 8) }
	fCreated field = func(b []byte, e *event.Event) []byte { return appendSeconds(appendKey(b, "created"), e.Created) }

	fState  field = func(b []byte, e *event.Event) []byte { return append(append(b, " state="...), e.State.String()...) }
	fGroup  field = func(b []byte, e *event.Event) []byte { return appendQuoted(b, "group", e.Group) }
	fMember field = func(b []byte, e *event.Event) []byte { return appendQuoted(b, "member", e.Member) }
	fDetail field = func(b []byte, e *event.Event) []byte { return appendQuoted(b, "detail", e.Detail) }

	fISR      field = func(b []byte, e *event.Event) []byte { return appendNodes(b, "isr", e.ISR) }
	fMaximal  field = func(b []byte, e *event.Event) []byte { return appendNodes(b, "maximal", e.MaximalISR) }
	fReplicas field = func(b []byte, e *event.Event) []byte { return appendNodes(b, "replicas", e.Replicas) }

	fNode     = number("node", func(e *event.Event) int64 { return int64(e.Node) })
	fPeer     = number("peer", func(e *event.Event) int64 { return int64(e.Peer) })
	fLeader   = number("leader", func(e *event.Event) int64 { return int64(e.Leader) })
	fEpoch    = number("epoch", func(e *event.Event) int64 { return int64(e.LeaderEpoch) })
	fPEpoch   = number("pepoch", func(e *event.Event) int64 { return int64(e.PartitionEpoch) })
	fCEpoch   = number("cepoch", func(e *event.Event) int64 { return int64(e.ControllerEpoch) })
	fBEpoch   = number("bepoch", func(e *event.Event) int64 { return int64(e.BrokerEpoch) })
	fBase     = number("base", func(e *event.Event) int64 { return int64(e.Base) })
	fLast     = number("last", func(e *event.Event) int64 { return int64(e.Last) })
	fOffset   = number("offset", func(e *event.Event) int64 { return int64(e.Offset) })
	fStart    = number("start", func(e *event.Event) int64 { return int64(e.LogStart) })
	fLEO      = number("leo", func(e *event.Event) int64 { return int64(e.LEO) })
	fHW       = number("hw", func(e *event.Event) int64 { return int64(e.HW) })
	fCount    = number("count", func(e *event.Event) int64 { return int64(e.Count) })
	fSize     = number("size", func(e *event.Event) int64 { return int64(e.Size) })
	fAcks     = number("acks", func(e *event.Event) int64 { return int64(e.Acks) })
	fIndex    = number("index", func(e *event.Event) int64 { return int64(e.Index) })
	fProducer = number("producer", func(e *event.Event) int64 { return int64(e.Producer) })
	fFirst    = number("first", func(e *event.Event) int64 { return e.First })
	fGen      = number("gen", func(e *event.Event) int64 { return int64(e.Generation) })
)

var asLeader = mark("leader", "follower")

// eventFields says what each kind of fact prints: the fields that its comment in
// model/event names.
var eventFields = [event.NumKinds][]field{
	event.NodeBooted:   {fCount},
	event.NodeCrashed:  {fText},
	event.NodeStopped:  {fText},
	event.FaultStarted: {fIndex, fText, fHit},
	event.FaultEnded:   {fIndex, fText, fHit},
	event.Settled:      {fText},
	event.Assertion:    {fText},
	event.Probe:        {fText},

	event.ControllerElected:  {fNode, fCEpoch},
	event.ControllerResigned: {fNode, fCEpoch},
	event.BrokerRegistered:   {fNode, fBEpoch},
	event.BrokerUnregistered: {fNode, fBEpoch},
	event.SessionExpired:     {fText},
	event.TopicCreated:       {fTopic, fCount},
	event.TopicDeletionAsked: {fTopic},
	event.TopicDeleted:       {fTopic},
	event.AssignmentChanged:  {fTP, fReplicas},
	event.PartitionChanged:   {fTP, fLeader, fEpoch, fPEpoch, fCEpoch, fISR, fNode, mark("recovering", "")},
	event.LeaderElected:      {fTP, fLeader, fEpoch, fISR, fText, mark("unclean", "")},
	event.ControlExecuted:    {fNode, fPeer, fCEpoch, fBEpoch, fText},
	event.ControlWrite:       {fNode, fCEpoch, mark("applied", "refused")},
	event.ShutdownAnswered:   {fNode, fCount},

	event.OffsetsMissing:   {fTP, fNode, fOffset, fLast},
	event.ReplicaLoaded:    {fTP, fNode, fStart, fLEO, fHW, mark("unclean", "")},
	event.BecameLeader:     {fTP, fNode, fEpoch, fOffset, fHW, fLEO, fISR},
	event.BecameFollower:   {fTP, fNode, fEpoch, fLeader, fHW, fLEO},
	event.ReplicaStopped:   {fTP, fNode, fEpoch, mark("deleted", "")},
	event.BatchAppended:    {fTP, fNode, fBase, fLast, fEpoch, fCRC, fCount, fSize, fLEO, asLeader},
	event.Truncated:        {fTP, fNode, fOffset, fLEO, fHW, fEpoch, fText},
	event.LogStartRaised:   {fTP, fNode, fStart},
	event.SegmentRolled:    {fTP, fNode, fBase},
	event.SegmentDeleted:   {fTP, fNode, fBase, fText},
	event.IsrProposed:      {fTP, fNode, fEpoch, fISR, fMaximal, fPEpoch},
	event.IsrCommitted:     {fTP, fNode, fEpoch, fISR, fPEpoch},
	event.HighWatermark:    {fTP, fNode, fEpoch, fHW, fLEO, fISR, fMaximal, asLeader},
	event.LEOPublished:     {fTP, fNode, fLEO},
	event.DirectoryOffline: {fNode, fText},
	event.CleaningBegan:    {fTP, fNode, fBase, fOffset},
	event.LogCleaned:       {fTP, fNode, fOffset, fSize},
	event.CleaningFailed:   {fTP, fNode, fText},
	event.FetcherFailed:    {fTP, fNode, fEpoch, fText},

	event.ProduceAnswered: {fTP, fNode, fAcks, fErr, fBase, fLast, fEpoch, fHW, fMaximal},
	event.OffsetAnswered:  {fTP, fNode, fEpoch, fOffset, fErr},

	event.BatchSent:       {fTP, fProducer, fFirst, fCount, fSize},
	event.RecordAcked:     {fTP, fProducer, fFirst, fCount, fSize, fBase, fLast, fAcks, fCreated, fIndex},
	event.RecordFailed:    {fTP, fProducer, fFirst, fCount, fErr, fCreated, mark("unknown-outcome", ""), fText},
	event.RecordDelivered: {fTP, fNode, fBase, fLast, fCRC, fCount, fProducer, fFirst, fCreated},
	event.PositionReset:   {fTP, fOffset, fBase, fText},
	event.MetadataSeen:    {fTP, fLeader, fEpoch, mark("gone", "")},

	event.CoordinatorLoaded:   {fTP, fNode, fEpoch, fCount, fIndex, fOffset, fText},
	event.CoordinatorUnloaded: {fTP, fNode, fEpoch, fCount},
	event.GroupChanged:        {fTP, fNode, fEpoch, fGroup, fState, fGen, fCount, fMember, fDetail, fText},
	event.MemberJoined:        {fTP, fNode, fEpoch, fGroup, fMember, fGen, fDetail, fText},
	event.MemberRemoved:       {fTP, fNode, fEpoch, fGroup, fMember, fGen, fDetail, fText},
	event.JoinAnswered:        {fTP, fNode, fEpoch, fGroup, fMember, fGen, fErr, fDetail, fCount, mark("leader", "")},
	event.SyncAnswered:        {fTP, fNode, fEpoch, fGroup, fMember, fGen, fErr, fCRC, fSize},
	event.AssignmentStored:    {fTP, fNode, fEpoch, fGroup, fMember, fGen, fCRC, fSize},
	event.OffsetCommitted:     {fTP, fNode, fEpoch, fGroup, fMember, fGen, fOffset, fBase, fFirst, fIndex, fCreated},
	event.OffsetLoaded:        {fTP, fNode, fEpoch, fGroup, fOffset, fFirst, fIndex},
	event.OffsetRemoved:       {fTP, fNode, fEpoch, fGroup, fBase, fIndex, fText},

	event.CoordinatorSought: {fGroup, fMember, fGen},
	event.CoordinatorFound:  {fNode, fGroup, fMember, fGen},
	event.CoordinatorLost:   {fNode, fGroup, fMember, fGen, fText},
	event.MemberChanged:     {fGroup, fMember, fGen, fDetail, fText, mark("reset", "")},
	event.PartitionAssigned: {fTP, fGroup, fMember, fGen},
	event.PartitionRevoked:  {fTP, fGroup, fMember, fGen, fOffset},
	event.PartitionLost:     {fTP, fGroup, fMember, fGen, fOffset},
	event.CommittedFetched:  {fTP, fGroup, fMember, fGen, fOffset, fErr},
	event.Polled:            {fGroup, fMember, fGen, fCount},
	event.RecordProcessed:   {fTP, fGroup, fMember, fGen, fBase, fLast, fCount},
	event.CommitSent:        {fTP, fGroup, fMember, fGen, fOffset, fFirst, fText},
	event.CommitAnswered:    {fTP, fGroup, fMember, fGen, fOffset, fFirst, fErr, fText, mark("unknown-outcome", "")},
}
