package invariant

import (
	"encoding/binary"
	"strings"

	"github.com/simkafka/simkafka/model/client"
	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
)

// batch is the one that e names, in the log. keys=a,b,c! are the keys of its records, !
// for a tombstone. kept=0,2 are those that a cleaner has left; at is where the batch
// begins, if not at base.
func (l *fields) batch(e *event.Event) record.Batch {
	var keys []string
	if s := l.text("keys", ""); s != "" {
		keys = strings.Split(s, ",")
		e.Count = int32(len(keys))
	}
	kept := l.nodes("kept")
	thin := l.has("kept")
	b := thinBatch(e.Producer, e.First, e.Count, keys, func(i int64) bool { return !thin || contains(kept, kafka.NodeID(i)) })
	b.SetBaseOffset(kafka.Offset(l.number("at", int64(e.Base))))
	b.SetPartitionLeaderEpoch(e.LeaderEpoch)
	return b
}

// thinBatch is what is left of the batch that a producer makes of these records.
func thinBatch(producer int32, first int64, count int32, keys []string, kept func(int64) bool) record.Batch {
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for i := range int64(count) {
		if !kept(i) {
			continue
		}
		v := make([]byte, client.MinValueSize) // laid out as client.ParseValue says
		binary.BigEndian.PutUint32(v, uint32(producer))
		binary.BigEndian.PutUint32(v[4:], 0x736b0001)
		binary.BigEndian.PutUint64(v[8:], uint64(first+i))
		var key []byte
		var headers []record.Header
		if keys != nil {
			word, tombstone := strings.CutSuffix(keys[i], "!")
			if key = []byte(word); tombstone {
				headers, v = []record.Header{{Key: "head", Value: v}}, nil
			}
		}
		bd.AppendAt(kafka.Offset(i), 1000, key, v, headers)
	}
	bd.KeepLastOffset(kafka.Offset(count - 1))
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}

// otherBatch is one that no producer makes.
func otherBatch(count int32) record.Batch {
	var bd record.Builder
	bd.Reset(record.ClientOptions())
	for range count {
		bd.Append(1000, nil, []byte("other"), nil)
	}
	b, err := bd.Build()
	if err != nil {
		panic(err)
	}
	return b
}
