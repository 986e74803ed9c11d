package kernel

import (
	"fmt"
	"reflect"
	"slices"
	"testing"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// walker sets timers by its draws for ever.
func walker() *fn {
	n := uint64(0)
	return &fn{step: func(in *step.Input, out *step.Effects) error {
		n++
		out.SetTimer(0, in.Now+kafka.Nanos(1+in.Draw("delay", n)%100), 0, int64(n), nil)
		if n%3 == 0 {
			out.Charge(5)
			out.Note(event.Event{Kind: event.Probe})
		}
		return nil
	}}
}

func walk(seed uint64, until kafka.Nanos) *Kernel {
	k := New(Config{Seed: seed, CheckpointEvery: 16})
	k.SetNetwork(&wire{k: k})
	for _, name := range []string{"a", "b", "c"} {
		k.Boot(k.Add(name, Options{}), walker(), nil)
	}
	k.Run(until)
	return k
}

func TestEqualSeedsGiveEqualRunsWhateverRanBefore(t *testing.T) {
	a1, b, a2 := walk(1, 10_000), walk(2, 10_000), walk(1, 10_000)
	if a1.Fingerprint() != a2.Fingerprint() || !slices.Equal(a1.Checkpoints(), a2.Checkpoints()) {
		t.Error("one seed, two runs")
	}
	if a1.Fingerprint() == b.Fingerprint() || len(a1.Checkpoints()) < 10 {
		t.Error("two seeds, one run")
	}
	for i, c := range a1.Checkpoints() {
		if c.Seq != uint64(16*(i+1)) {
			t.Fatalf("checkpoint %d at %d", i, c.Seq)
		}
	}
}

func TestCheckpointsBoundTheFirstDifference(t *testing.T) {
	a := walk(1, 10_000).Checkpoints()
	b := slices.Clone(a)
	for i := 7; i < len(b); i++ {
		b[i].Sum.Fold(1)
	}
	if from, to := Diverged(a, b); from != 7*16 || to != 8*16 {
		t.Error(from, to)
	}
	if from, to := Diverged(a, a[:5]); from != 5*16 || to != 0 {
		t.Error(from, to)
	}
}

type records struct{ all []Record }

func (r *records) Record(x *Record) { r.all = append(r.all, *x) }

func TestRecordsNameTheFirstDifferingEvent(t *testing.T) {
	run := func(delta int64) *records {
		r := new(records)
		k := New(Config{})
		k.SetRecorder(r)
		k.Boot(k.Add("a", Options{}), &fn{step: func(in *step.Input, out *step.Effects) error {
			arg := in.Arg + 1
			if arg == 5 {
				arg += delta
			}
			out.SetTimer(0, in.Now+1, 0, arg, nil)
			return nil
		}}, nil)
		k.Run(8)
		return r
	}
	x, y := run(0), run(1)
	first := 0
	for x.all[first].Sum == y.all[first].Sum {
		first++
	}
	if first != 5 || x.all[5].Digest == y.all[5].Digest || x.all[4].Digest != y.all[4].Digest {
		t.Errorf("first difference at event %d", first)
	}
	for i, r := range x.all {
		if r.Seq != uint64(i+1) || r.Parent != uint64(i) || r.Time != kafka.Nanos(i) {
			t.Errorf("event %d: %+v", i, r)
		}
	}
}

// G16: draws are keyed by names, so an actor more changes no other actor's steps.
func TestIdleActorsChangeNoOtherActorsSteps(t *testing.T) {
	hashes := func(idle bool) (h []uint64) {
		k := New(Config{Seed: 5})
		if idle {
			k.Boot(k.Add("idle", Options{}), &fn{step: func(*step.Input, *step.Effects) error { return nil }}, nil)
		}
		for _, name := range []string{"a", "b"} {
			k.Boot(k.Add(name, Options{}), walker(), nil)
		}
		k.Run(10_000)
		a, _ := k.Lookup("a")
		b, _ := k.Lookup("b")
		return []uint64{k.NodeHash(a), k.NodeHash(b)}
	}
	if !slices.Equal(hashes(false), hashes(true)) {
		t.Error("they did")
	}
}

func TestRunStopsWhereItIsTold(t *testing.T) {
	k, _, _, _ := start(Config{MaxEvents: 50}, walker())
	k.StopAt(10)
	if s := k.Run(kafka.Second); s != ReachedStop || k.Events() != 10 {
		t.Error("StopAt:", s, k.Events())
	}
	k.StopAt(0)
	if !k.Step() || k.Events() != 11 {
		t.Error("Step:", k.Events())
	}
	k.At(k.Now(), k.Halt)
	if s := k.Run(kafka.Second); s != Halted || k.Events() != 11 {
		t.Error("Halt:", s, k.Events())
	}
	if s := k.Run(kafka.Second); s != Limited || k.Events() != 50 {
		t.Error("MaxEvents:", s, k.Events())
	}
}

func TestRunEndsAtItsTimeInclusive(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, queueing(&tr, 1, 0, 10, 11))
	if k.Run(10) != ReachedTime || k.Now() != 10 {
		t.Error(k.Now())
	}
	tr.want(t, "10 w0 timer 0")
	h := k.At(5, func() { t.Error("withdrawn") })
	if !k.Cancel(h) || k.Cancel(h) {
		t.Error("a call is withdrawn once")
	}
	k.Run(20)
	tr.want(t, "10 w0 timer 0", "11 w0 timer 1")
}

func TestCallbacksComeBeforeEverythingElseOfTheirInstant(t *testing.T) {
	var tr trace
	k, _, _, _ := start(Config{}, queueing(&tr, 1, 0, 10))
	k.Run(5)
	k.At(10, func() { tr.lines = append(tr.lines, fmt.Sprint(int64(k.Now()), " call")) })
	k.Run(20)
	tr.want(t, "10 call", "10 w0 timer 0")
}

func TestNotesCarryTimeNumberAndActor(t *testing.T) {
	k, _, _, s := start(Config{}, walker())
	k.StopAt(3)
	k.Run(kafka.Second)
	n := s.events[1]
	if n.Kind != event.Probe || n.Actor != "a" || n.Seq != 3 || n.Time != k.Now() {
		t.Errorf("%+v", n)
	}
}

func TestHooksSurroundEachStep(t *testing.T) {
	var got []string
	k := New(Config{})
	k.BeforeStep(func(a ActorID, in *step.Input) { got = append(got, "before "+in.Kind.String()) })
	k.AfterStep(func(a ActorID, in *step.Input, out *step.Effects) {
		got = append(got, fmt.Sprintf("after %s: %d ops", in.Kind, len(out.Ops)))
	})
	k.Boot(k.Add("a", Options{}), walker(), nil)
	k.StopAt(2)
	k.Run(kafka.Second)
	if fmt.Sprint(got) != "[before boot after boot: 1 ops before timer after timer: 1 ops]" {
		t.Error(got)
	}
}

func TestAnEndlessLoopOfCallbacksIsStopped(t *testing.T) {
	k := New(Config{})
	var again func()
	again = func() { k.At(k.Now(), again) }
	again()
	if k.Run(1) != Limited {
		t.Error("it was not")
	}
}

// --- messages

func deliver(cfg Config, m step.Message, change func()) *Kernel {
	k := New(cfg)
	k.SetNetwork(&wire{k: k})
	a := k.Add("a", Options{})
	k.Boot(a, &fn{step: func(*step.Input, *step.Effects) error { return nil }}, nil)
	_, d := k.measure(m)
	if change != nil {
		change()
	}
	k.Deliver(a, &Delivery{Kind: step.Request, Conn: 1, From: a, Body: m, Digest: uint64(d)})
	k.Run(1)
	return k
}

func TestCheckWireFindsAFieldAboveTheVersion(t *testing.T) {
	m := kmsg.NewPtrFetchRequest()
	m.Version = 4
	m.SessionEpoch = 0 // its default is -1: the receiver would see that
	k := deliver(Config{CheckWire: true}, m, nil)
	if as := k.Assertions(); len(as) != 1 || as[0].Message != "wire check: FetchRequest v4 field.SessionEpoch (value) does not survive the wire" {
		t.Errorf("%+v", as)
	}
	m.SessionEpoch = -1
	m.Topics = []kmsg.FetchRequestTopic{}
	if as := deliver(Config{CheckWire: true}, m, nil).Assertions(); len(as) != 0 {
		t.Errorf("%+v", as)
	}
}

func TestCheckWireFindsAMessageChangedAfterItWasSent(t *testing.T) {
	m := kmsg.NewPtrMetadataRequest()
	k := deliver(Config{CheckWire: true}, m, func() { m.AllowAutoTopicCreation = true; m.Version = 4 })
	if as := k.Assertions(); len(as) != 1 || as[0].Message != "wire check: MetadataRequest v4 changed after it was sent" {
		t.Errorf("%+v", as)
	}
}

// Every field of the hot messages, changed alone, changes the digest.
func TestHotDigestDependsOnEveryField(t *testing.T) {
	k := New(Config{})
	id := "txn"
	preq := kmsg.NewPtrProduceRequest()
	preq.Version, preq.TransactionID = 11, &id
	preq.Topics = []kmsg.ProduceRequestTopic{{Topic: "t", Partitions: []kmsg.ProduceRequestTopicPartition{{Partition: 1, Records: make([]byte, 70)}}}}
	presp := kmsg.NewPtrProduceResponse()
	presp.Version = 11
	presp.Topics = []kmsg.ProduceResponseTopic{{Topic: "t", Partitions: []kmsg.ProduceResponseTopicPartition{{Partition: 1, ErrorMessage: &id}}}}
	freq := kmsg.NewPtrFetchRequest()
	freq.Version = 11
	freq.Topics = []kmsg.FetchRequestTopic{{Topic: "t", Partitions: []kmsg.FetchRequestTopicPartition{{Partition: 1}}}}
	freq.ForgottenTopics = []kmsg.FetchRequestForgottenTopic{{Topic: "f", Partitions: []int32{1}}}
	fresp := kmsg.NewPtrFetchResponse()
	fresp.Version = 11
	fresp.Topics = []kmsg.FetchResponseTopic{{Topic: "t", Partitions: []kmsg.FetchResponseTopicPartition{{
		Partition: 1, RecordBatches: make([]byte, 70), AbortedTransactions: []kmsg.FetchResponseTopicPartitionAbortedTransaction{{ProducerID: 1}}}}}}
	// Rare fields take the slow way: the fast size refuses them.
	rare := []string{"Tags", "Brokers", "ErrorRecords", "ClusterID", "ReplicaDirectoryID", ".HighWatermark"}
	for _, m := range []step.Message{preq, presp, freq, fresp} {
		if _, ok := step.FastWireSize(m); !ok {
			t.Fatalf("%T is not hot", m)
		}
		_, base := k.measure(m)
		changed := 0
		mutate(reflect.ValueOf(m).Elem(), "", func(path string) {
			for _, r := range rare {
				if path == "" || reflect.TypeOf(m) == reflect.TypeFor[*kmsg.FetchRequest]() && r == ".HighWatermark" && len(path) > 14 && path[len(path)-14:] == r || r != ".HighWatermark" && contains(path, r) {
					return
				}
			}
			changed++
			if _, d := k.measure(m); d == base {
				t.Errorf("%T%s is not in the digest", m, path)
			}
		})
		if changed < 8 {
			t.Errorf("%T: only %d fields tried", m, changed)
		}
		if _, d := k.measure(m); d != base {
			t.Errorf("%T: not restored", m)
		}
	}
}

func contains(s, sub string) bool {
	for i := 0; i+len(sub) <= len(s); i++ {
		if s[i:i+len(sub)] == sub {
			return true
		}
	}
	return false
}

// mutate changes each leaf of v in turn and calls try.
func mutate(v reflect.Value, path string, try func(path string)) {
	switch v.Kind() {
	case reflect.Struct:
		if v.Type() == reflect.TypeFor[kmsg.Tags]() {
			return
		}
		for i := range v.NumField() {
			mutate(v.Field(i), path+"."+v.Type().Field(i).Name, try)
		}
	case reflect.Slice, reflect.Array:
		for i := range min(v.Len(), 61) {
			mutate(v.Index(i), path+"[]", try)
		}
	case reflect.Pointer:
		old := v.Interface()
		v.SetZero()
		if !reflect.ValueOf(old).IsNil() {
			try(path + " (null)")
		}
		v.Set(reflect.ValueOf(old))
		if !v.IsNil() {
			mutate(v.Elem(), path, try)
		}
	case reflect.String:
		old := v.String()
		v.SetString(old + "x")
		try(path)
		v.SetString(old)
	case reflect.Int8, reflect.Int16, reflect.Int32, reflect.Int64:
		old := v.Int()
		v.SetInt(old ^ 3)
		try(path)
		v.SetInt(old)
	case reflect.Uint8:
		old := v.Uint()
		v.SetUint(old ^ 3)
		try(path)
		v.SetUint(old)
	}
}

// A batch enters by its header alone, whose CRC covers the rest.
func TestRecordBatchesEnterByTheirHeaders(t *testing.T) {
	batch := func(payload int) []byte {
		b := make([]byte, 61+payload)
		b[11] = byte(49 + payload)
		b[16] = 2
		return b
	}
	sum := func(b []byte) digest { var d digest; d.batches(b); return d }
	two := append(batch(20), batch(30)...)
	base := sum(two)
	for i := range two {
		two[i] ^= 1
		header := i < 61 || i >= 81 && i < 81+61
		if changed := sum(two) != base; changed != header {
			t.Errorf("byte %d: changed %v", i, changed)
		}
		two[i] ^= 1
	}
	if sum(two[:81]) == base || sum(append(two, 1)) == base {
		t.Error("the number of batches counts")
	}
}
