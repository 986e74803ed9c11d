package report

import (
	"bufio"
	"io"
	"reflect"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
	"github.com/simkafka/simkafka/sim/kernel"
)

// TraceHelp documents the text trace.
const TraceHelp = `The text trace has one line for each fact that a node or the simulator noted, in
the order of the run. Words are separated by one space:

  TIME SEQ NODE KIND KEY=VALUE…

  TIME   virtual time since the start, in seconds with nine digits
  SEQ    number of the step that noted the fact (the simulator: the last)
  NODE   the noting node; - is the simulator itself
  KIND   the fact: node-crashed, leader-elected, record-acked … (the words that
         a scenario's "when:" trigger takes)

Keys (only those that the kind has):

  tp         partition, as topic-partition    node       a broker id
  leader     leader's broker id, -1 = none    peer       the other broker id
  epoch      leader epoch                     pepoch     partition epoch
  cepoch     controller epoch                 bepoch     broker epoch
  isr        broker ids, with commas          maximal    the maximal ISR
  replicas   broker ids                       start      log start offset
  base last  offsets, both inclusive          offset     an offset
  leo hw     exclusive ends                   crc        of the batch, hex
  count      records, partitions, or which    size       bytes
             incarnation boots
  acks       -1, 0 or 1                       err        Kafka's error name
  producer   number of the client             first      of its first record
  created    time of the send call, s         index      number of the fault, or
  topic id   topic name and id                           attempts of a batch
  text       in words, quoted                 hit        what was hit, quoted
  group      id, quoted                       member     id, quoted
  gen        generation                       state      of a group
  detail     protocol or group.instance.id, quoted
  a word alone is a flag: unclean, leader, follower, applied, …

With --trace-steps a line follows for each step, after the facts that it noted:

  TIME SEQ NODE step:INPUT lane=LANE.WORKER life=N took=NS parent=SEQ KEY=VALUE…

  INPUT    boot, request, response, opened, accepted, refused, closed, timer,
           done, flushed, terminate
  life     incarnation of the process         took       time it took, ns
  parent   step that caused it, 0 = none       from       node at the other end
  conn     connection, as the node counts     corr       correlation id
  body     message type and version           timer arg  the node's own numbers
  err      error, quoted                      digest     hash of the step, hex

Equal seed and scenario give equal bytes.
`

// Trace writes the text trace that TraceHelp documents. It implements
// kernel.Observer and, for steps, kernel.Recorder. Call Flush at the end.
type Trace struct {
	// Name gives the names of actors in step lines; nil prints their numbers.
	Name func(kernel.ActorID) string

	w      *bufio.Writer
	line   []byte
	err    error
	bodies map[reflect.Type]string
}

// NewTrace makes a trace; nothing is written before its buffer is full.
func NewTrace(w io.Writer) *Trace {
	return &Trace{w: bufio.NewWriterSize(w, 64<<10), bodies: make(map[reflect.Type]string)}
}

// Flush writes what is buffered and returns the first error of all writes.
func (t *Trace) Flush() error {
	if t.err != nil {
		return t.err // which the writer says again
	}
	return t.w.Flush()
}

// Event implements kernel.Observer.
func (t *Trace) Event(e *event.Event) {
	actor := e.Actor
	if isFault(e) {
		actor = "" // the actor says, in words, what was hit
	}
	b := t.start(e.Time, e.Seq, actor)
	b = append(b, e.Kind.String()...)
	if e.Kind < event.NumKinds {
		for _, f := range eventFields[e.Kind] {
			b = f(b, e)
		}
	}
	t.end(b)
}

// Record implements kernel.Recorder.
func (t *Trace) Record(r *kernel.Record) {
	b := t.start(r.Time, r.Seq, t.name(r.Actor))
	b = append(append(b, "step:"...), r.Kind.String()...)
	b = appendInt(b, "lane", int64(r.Lane))
	b = append(b, '.')
	b = strconv.AppendUint(b, uint64(r.Worker), 10)
	b = appendInt(b, "life", int64(r.Incarnation))
	b = appendInt(b, "took", int64(r.Took))
	b = appendInt(b, "parent", int64(r.Parent))
	b = t.ends(b, r)
	if r.Body != nil {
		b = append(append(b, " body="...), t.body(r.Body)...)
	}
	if r.Err != nil {
		b = appendQuoted(b, "err", r.Err.Error())
	}
	b = appendKey(b, "digest")
	b = appendHex(b, r.Digest, 16)
	t.end(b)
}

// ends prints the fields that the kind of input fills.
func (t *Trace) ends(b []byte, r *kernel.Record) []byte {
	switch r.Kind {
	case step.Request, step.Accepted, step.Response:
		b = append(append(b, " from="...), t.name(r.From)...)
	case step.Timer, step.Done:
		b = appendInt(b, "timer", int64(r.Timer))
		return appendInt(b, "arg", r.Arg)
	}
	if r.Conn != 0 {
		b = appendInt(b, "conn", int64(r.Conn))
	}
	if r.Kind == step.Request || r.Kind == step.Response {
		b = appendInt(b, "corr", int64(r.Correlation))
	}
	return b
}

func (t *Trace) name(a kernel.ActorID) string {
	if t.Name != nil {
		return t.Name(a)
	}
	return "actor-" + strconv.Itoa(int(a))
}

// body names a message: ProduceRequest/11.
func (t *Trace) body(m step.Message) string {
	typ := reflect.TypeOf(m)
	name, ok := t.bodies[typ]
	if !ok {
		name = strings.TrimPrefix(typ.String(), "*")
		name = name[strings.LastIndexByte(name, '.')+1:]
		t.bodies[typ] = name
	}
	if v, ok := m.(interface{ GetVersion() int16 }); ok {
		return name + "/" + strconv.Itoa(int(v.GetVersion()))
	}
	return name
}

func (t *Trace) start(at kafka.Nanos, seq uint64, actor string) []byte {
	b := appendSeconds(t.line[:0], at)
	b = append(b, ' ')
	b = strconv.AppendUint(b, seq, 10)
	b = append(b, ' ')
	if actor == "" {
		actor = "-"
	}
	return append(append(b, actor...), ' ')
}

func (t *Trace) end(b []byte) {
	t.line = append(b, '\n')
	if t.err == nil {
		_, t.err = t.w.Write(t.line)
	}
}

func appendSeconds(b []byte, d kafka.Nanos) []byte {
	if d < 0 {
		b, d = append(b, '-'), -d
	}
	b = strconv.AppendInt(b, int64(d/kafka.Second), 10)
	b = append(b, '.')
	digits := int64(d % kafka.Second)
	for unit := int64(kafka.Second) / 10; unit > 0; unit /= 10 {
		b = append(b, byte('0'+digits/unit%10))
	}
	return b
}

func appendKey(b []byte, key string) []byte {
	return append(append(append(b, ' '), key...), '=')
}

func appendInt(b []byte, key string, v int64) []byte {
	return strconv.AppendInt(appendKey(b, key), v, 10)
}

func appendQuoted(b []byte, key, text string) []byte {
	return strconv.AppendQuote(appendKey(b, key), text)
}

func appendHex(b []byte, v uint64, digits int) []byte {
	const hex = "0123456789abcdef"
	for i := digits - 1; i >= 0; i-- {
		b = append(b, hex[v>>(4*uint(i))&15])
	}
	return b
}

func appendNodes(b []byte, key string, ids []kafka.NodeID) []byte {
	b = appendKey(b, key)
	for i, id := range ids {
		if i > 0 {
			b = append(b, ',')
		}
		b = strconv.AppendInt(b, int64(id), 10)
	}
	return b
}
