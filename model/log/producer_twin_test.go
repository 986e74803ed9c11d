package log

import (
	"slices"
	"testing"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/record"
	"pgregory.net/rapid"
)

// producerTwin is the slow, obvious producer state: every batch that the log holds.
type producerTwin struct {
	batches []record.Batch
	// reloaded is the end of what the log may know through a snapshot alone: of the
	// batches below it perhaps only a producer's last one is remembered, and markers
	// may count as replicated.
	reloaded kafka.Offset
	hw       kafka.Offset
}

func (w *producerTwin) end() kafka.Offset {
	if n := len(w.batches); n > 0 {
		return w.batches[n-1].NextOffset()
	}
	return 0
}

// twinTxn is a transaction; last is its marker, or -1.
type twinTxn struct {
	AbortedTxn
	commit bool
}

// story is what the batches say of one producer.
func (w *producerTwin) story(id int64) (p Producer, data []record.Batch, txns []twinTxn) {
	p = Producer{ID: id, Epoch: -1, LastSequence: -1, LastOffset: -1, LastTimestamp: -1, CoordinatorEpoch: -1, TxnFirst: -1}
	for _, b := range w.batches {
		if b.ProducerID() != id {
			continue
		}
		if b.ProducerEpoch() != p.Epoch {
			p.Epoch, p.LastSequence, p.LastOffset, data = b.ProducerEpoch(), -1, -1, nil
		}
		p.LastTimestamp = b.MaxTimestamp()
		if m, ok, _ := b.ParseMarker(); ok {
			p.CoordinatorEpoch = m.CoordinatorEpoch
			if p.TxnFirst >= 0 {
				txns = append(txns, twinTxn{AbortedTxn{ProducerID: id, FirstOffset: p.TxnFirst, LastOffset: b.BaseOffset()}, m.Commit})
			}
			p.TxnFirst = -1
			continue
		}
		p.LastSequence, p.LastOffset = b.LastSequence(), b.LastOffset()
		data = append(data, b)
		if b.IsTransactional() && p.TxnFirst < 0 {
			p.TxnFirst = b.BaseOffset()
		}
	}
	if p.TxnFirst >= 0 {
		txns = append(txns, twinTxn{AbortedTxn{ProducerID: id, FirstOffset: p.TxnFirst, LastOffset: -1}, false})
	}
	return p, data, txns
}

// verdict is cluster P-15 by the whole story: a code, or the batch that is repeated.
// forgotten tells that the log may have forgotten that batch.
func (w *producerTwin) verdict(b record.Batch) (code kafka.ErrorCode, repeats record.Batch, forgotten bool) {
	p, data, _ := w.story(b.ProducerID())
	window := data[max(0, len(data)-producerWindow):]
	for i, d := range window {
		if d.ProducerEpoch() == b.ProducerEpoch() && d.BaseSequence() == b.BaseSequence() && d.LastSequence() == b.LastSequence() {
			return kafka.None, d, d.BaseOffset() < w.reloaded && i < len(window)-1
		}
	}
	switch {
	case b.ProducerEpoch() < p.Epoch:
		return kafka.InvalidProducerEpoch, nil, false
	case p.Epoch >= 0 && b.ProducerEpoch() > p.Epoch && b.BaseSequence() != 0:
		return kafka.OutOfOrderSequenceNumber, nil, false
	case p.Epoch >= 0 && b.ProducerEpoch() == p.Epoch && b.BaseSequence() != p.LastSequence+1:
		return kafka.OutOfOrderSequenceNumber, nil, false
	case p.TxnFirst >= 0 && !b.IsTransactional():
		return kafka.InvalidTxnState, nil, false
	}
	return kafka.None, nil, false
}

const twinProducers = 3

// lastStable is where the last stable offset may lie; both ends are the same unless a
// marker is below reloaded.
func (w *producerTwin) lastStable() (lo, hi kafka.Offset) {
	lo, hi = w.hw, w.hw
	for id := range int64(twinProducers) {
		_, _, txns := w.story(id)
		for _, x := range txns {
			if x.LastOffset >= 0 && x.LastOffset < w.hw {
				continue
			}
			lo = min(lo, x.FirstOffset)
			if x.LastOffset < 0 || x.LastOffset >= w.reloaded {
				hi = min(hi, x.FirstOffset)
			}
		}
	}
	return lo, hi
}

// aborted lists the aborted transactions by marker, with the last stable offset that
// each index entry must hold.
func (w *producerTwin) aborted() (list []AbortedTxn) {
	for id := range int64(twinProducers) {
		_, _, txns := w.story(id)
		for _, x := range txns {
			if x.LastOffset < 0 || x.commit {
				continue
			}
			x.LastStableOffset = x.LastOffset + 1
			for other := range int64(twinProducers) {
				_, _, others := w.story(other)
				for _, y := range others {
					if other != id && y.FirstOffset < x.LastOffset && (y.LastOffset < 0 || y.LastOffset > x.LastOffset) {
						x.LastStableOffset = min(x.LastStableOffset, y.FirstOffset)
					}
				}
			}
			list = append(list, x.AbortedTxn)
		}
	}
	slices.SortFunc(list, func(a, b AbortedTxn) int { return compareOffsets(a.LastOffset, b.LastOffset) })
	return list
}

type producerRun struct {
	*rapid.T
	cfg *Config
	log *Log
	w   producerTwin
}

func (r *producerRun) append() {
	id := rapid.Int64Range(0, twinProducers-1).Draw(r.T, "producer")
	p, data, _ := r.w.story(id)
	epoch := max(0, p.Epoch) + int16(rapid.SampledFrom([]int{0, 0, 0, 0, 0, 0, 0, 0, -1, 1}).Draw(r.T, "epoch"))
	seq := p.LastSequence + 1
	switch rapid.IntRange(0, 9).Draw(r.T, "sequence") {
	case 0:
		seq = rapid.Int32Range(0, 12).Draw(r.T, "any sequence")
	case 1:
		if len(data) > 0 { // again
			d := data[rapid.IntRange(max(0, len(data)-7), len(data)-1).Draw(r.T, "repeated")]
			r.offer(producerBatchOf(r, id, d.ProducerEpoch(), d.BaseSequence(), int(d.Count()), 1000, d.IsTransactional()))
			return
		}
	}
	if epoch != p.Epoch && p.Epoch >= 0 {
		seq = rapid.SampledFrom([]int32{0, 0, 0, seq}).Draw(r.T, "new epoch's sequence")
	}
	txn := rapid.IntRange(0, 3).Draw(r.T, "transactional") > 0
	r.offer(producerBatchOf(r, id, max(epoch, 0), seq, rapid.IntRange(1, 8).Draw(r.T, "records"), 1000, txn))
}

// offer appends b if the twin would, and compares the answers.
func (r *producerRun) offer(b record.Batch) {
	code, repeats, forgotten := r.w.verdict(b)
	info, v, err := r.log.AppendAsLeader(b, 0, 1)
	check(r, err)
	switch {
	case forgotten && v.Code == kafka.OutOfOrderSequenceNumber:
		return
	case v.Code != code:
		r.Fatalf("verdict %v, want %v", v.Code, code)
	case repeats != nil:
		equal(r, "duplicate", info.Duplicate, true)
		equal(r, "base", info.Base, repeats.BaseOffset())
		equal(r, "last", info.Last, repeats.LastOffset())
		return
	case code == kafka.None:
		equal(r, "duplicate", info.Duplicate, false)
		equal(r, "base", info.Base, r.w.end())
		r.w.batches = append(r.w.batches, record.Batch(info.Batch))
	}
}

func (r *producerRun) mark() {
	id := rapid.Int64Range(0, twinProducers-1).Draw(r.T, "producer")
	p, _, _ := r.w.story(id)
	epoch := max(0, p.Epoch+int16(rapid.IntRange(-1, 1).Draw(r.T, "epoch")))
	coordinator := max(0, p.CoordinatorEpoch+int32(rapid.IntRange(-1, 1).Draw(r.T, "coordinator")))
	want := kafka.None
	switch {
	case epoch < p.Epoch:
		want = kafka.InvalidProducerEpoch
	case coordinator < p.CoordinatorEpoch:
		want = kafka.TransactionCoordinatorFenced
	}
	b := markerOf(r, id, epoch, rapid.Bool().Draw(r.T, "commit"), coordinator)
	info, v, err := r.log.Append(b, &LeaderAppend{Origin: Coordinator, Now: 1})
	check(r, err)
	equal(r, "verdict", v.Code, want)
	if want == kafka.None {
		r.w.batches = append(r.w.batches, record.Batch(info.Batch))
	}
}

func (r *producerRun) plain() {
	info := appendLeader(r, r.log, batchOf(r, rapid.IntRange(0, 200).Draw(r.T, "size"), 1000), 0, 1)
	r.w.batches = append(r.w.batches, record.Batch(info.Batch))
}

func (r *producerRun) moveHW() {
	r.w.hw = kafka.Offset(rapid.Int64Range(int64(r.w.hw), int64(r.w.end())).Draw(r.T, "high watermark"))
	r.log.MaybeIncrementHighWatermark(r.w.hw)
}

// truncate to a batch's beginning, so that the end is the twin's.
func (r *producerRun) truncate() {
	if len(r.w.batches) == 0 {
		return
	}
	n := rapid.IntRange(max(0, len(r.w.batches)-12), len(r.w.batches)-1).Draw(r.T, "batches left")
	to := r.w.batches[n].BaseOffset()
	_, err := r.log.TruncateTo(to, 1)
	check(r, err)
	r.w.batches = r.w.batches[:n]
	r.w.hw = min(r.w.hw, to)
	r.w.reloaded = to
}

func (r *producerRun) restart() {
	r.log = reopen(r, r.log, rapid.Bool().Draw(r.T, "clean"), OpenParams{RecoveryPoint: r.log.RecoveryPoint(), Now: 1})
	r.w.hw = r.log.SetHighWatermark(r.w.hw)
	r.w.reloaded = r.w.end()
}

func (r *producerRun) flush() {
	if job, ok := r.log.PendingFlush(); ok {
		check(r, r.log.FlushDone(job, 1, nil))
	}
}

func (r *producerRun) compare() {
	equal(r, "end", r.log.LogEndOffset(), r.w.end())
	var want []Producer
	for id := range int64(twinProducers) {
		if p, _, _ := r.w.story(id); p.Epoch >= 0 {
			want = append(want, p)
		}
	}
	if got := r.log.Producers(); !slices.Equal(got, want) {
		r.Fatalf("producers\n%+v, want\n%+v", got, want)
	}
	if lo, hi := r.w.lastStable(); r.log.LastStableOffset() < lo || r.log.LastStableOffset() > hi {
		r.Fatalf("last stable offset %d, want %d to %d", r.log.LastStableOffset(), lo, hi)
	}
	aborted := r.w.aborted()
	var index []AbortedTxn
	for _, s := range r.log.segments {
		index = append(index, s.txnEntries()...)
	}
	if !slices.Equal(index, aborted) {
		r.Fatalf("transaction index\n%+v, want\n%+v", index, aborted)
	}
	r.compareAborted(aborted)
}

// compareAborted asks for what a reader of some range must know.
func (r *producerRun) compareAborted(all []AbortedTxn) {
	from := kafka.Offset(rapid.Int64Range(0, int64(r.w.end())).Draw(r.T, "from"))
	found, err := r.log.Read(from, rapid.IntRange(1, 400).Draw(r.T, "max bytes"), r.log.LastStableOffset(), true)
	check(r, err)
	got, err := r.log.AbortedTransactions(nil, from, &found)
	check(r, err)
	last := kafka.NoOffset
	for rest := found.Records; len(rest) > 0; {
		b, next, err := record.Next(rest)
		if err != nil {
			break
		}
		last, rest = b.LastOffset(), next
	}
	for _, x := range all {
		if x.LastOffset >= from && x.FirstOffset <= last && !slices.Contains(got, x) {
			r.Fatalf("read of %d to %d: %+v is missing in %+v", from, last, x, got)
		}
	}
	for _, x := range got {
		if !slices.Contains(all, x) || x.LastOffset < from {
			r.Fatalf("read from %d: %+v", from, x)
		}
	}
}

func TestProducerStateMatchesAllBatches(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		r := &producerRun{T: t, cfg: smallConfig()}
		r.cfg.SegmentBytes = int32(rapid.IntRange(400, 2000).Draw(t, "segment.bytes"))
		r.cfg.IndexIntervalBytes = int32(rapid.IntRange(0, 400).Draw(t, "index.interval.bytes"))
		r.log = openLog(t, newMem(), r.cfg, OpenParams{Clean: true, Now: 1})
		actions := []func(){
			r.append, r.append, r.append, r.append, r.append, r.append, r.mark, r.mark, r.plain,
			r.moveHW, r.truncate, r.restart, r.flush,
		}
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			actions[rapid.IntRange(0, len(actions)-1).Draw(t, "action")]()
			r.compare()
		}
		r.follow()
	})
}

// follow copies the log to a follower, several batches at a time: it knows the same
// producers, and after a recovery has the same transaction index.
func (r *producerRun) follow() {
	f, fs := newLog(r, r.cfg)
	for rest := r.w.batches; len(rest) > 0; {
		n := rapid.IntRange(1, min(len(rest), 5)).Draw(r.T, "batches in a fetch")
		buf := join(rest[:n]...)
		if len(buf) > int(r.cfg.SegmentBytes) {
			n, buf = 1, join(rest[:1]...)
		}
		_, err := f.AppendAsFollower(buf, 1)
		check(r, err)
		rest = rest[n:]
	}
	if got, want := f.Producers(), r.log.Producers(); !slices.Equal(got, want) {
		r.Fatalf("a follower knows\n%+v, its leader\n%+v", got, want)
	}
	check(r, f.Close(false, 1))
	f = openLog(r, fs, r.cfg, OpenParams{Now: 1})
	var index []AbortedTxn
	for _, s := range f.segments {
		index = append(index, s.txnEntries()...)
	}
	if want := r.w.aborted(); !slices.Equal(index, want) {
		r.Fatalf("recovered transaction index\n%+v, want\n%+v", index, want)
	}
}
