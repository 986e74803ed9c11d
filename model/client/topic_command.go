package client

import (
	"slices"
	"strconv"

	"github.com/twmb/franz-go/pkg/kmsg"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/netclient"
	"github.com/simkafka/simkafka/model/step"
)

// The texts of the Probes that a TopicCommand notes at its end.
const (
	TopicChanged       = "topic-changed"
	TopicChangeRefused = "topic-change-refused"
)

// createPartitionsVersion is spoken by every release that has the API (since 1.0; before,
// the tool wrote to ZooKeeper).
const createPartitionsVersion = 1

// deleteTopicsVersion is spoken by every release that tells errors apart (since 2.1).
const deleteTopicsVersion = 3

// TopicCommandConfig makes a TopicCommand. Durations of zero take Kafka's defaults.
type TopicCommandConfig struct {
	Bootstrap       []step.Addr
	MetadataVersion int16
	Topic           string
	// Partitions is how many the topic shall have; with 0 it is deleted.
	Partitions int32
	// Create is not nil for a topic of that name that is to be created.
	Create         *NewTopic
	RequestTimeout kafka.Nanos // request.timeout.ms
	APITimeout     kafka.Nanos // default.api.timeout.ms
	RetryBackoff   kafka.Nanos
}

// TopicCommand is an administrator who changes one topic, kafka-topics.sh over
// KafkaAdminClient. It asks the controller, and asks again when the answer does not come
// or the broker is not the controller (any more), until APITimeout is over; what the
// controller says of the topic is final. A request that is repeated may have been
// executed the first time: then the command hears an error although all is done.
//
// Who creates a topic whose predecessor is not gone asks again, too: its name is taken until
// the last replica is deleted.
type TopicCommand struct {
	cfg      TopicCommandConfig
	network  network
	wake     netclient.Alarm
	asking   bool
	retryAt  kafka.Nanos
	deadline kafka.Nanos // 0 before the first step
	lost     bool        // a request went without an answer: it may have been executed
	done     bool
	failure  string
}

// NewTopicCommand makes a command that has not booted.
func NewTopicCommand(cfg TopicCommandConfig) *TopicCommand {
	if cfg.RequestTimeout == 0 {
		cfg.RequestTimeout = 30 * kafka.Second
	}
	if cfg.APITimeout == 0 {
		cfg.APITimeout = 60 * kafka.Second
	}
	if cfg.RetryBackoff == 0 {
		cfg.RetryBackoff = 100 * kafka.Millisecond
	}
	c := &TopicCommand{cfg: cfg, wake: netclient.Alarm{Lane: lane, Kind: wakeTimer}}
	c.network = adminNetwork(cfg.Bootstrap, cfg.MetadataVersion, cfg.RequestTimeout, cfg.RetryBackoff)
	if cfg.Create != nil {
		c.network.meta.topic(cfg.Topic)
	}
	return c
}

// Lanes is the one lane of the client.
func (c *TopicCommand) Lanes() []step.LaneSpec { return []step.LaneSpec{{Name: "admin", Workers: 1}} }

// Done reports whether the command has ended, and Failure how: "" is success.
func (c *TopicCommand) Done() bool { return c.done }

// Failure is the error that the command ended with, "" if it has not, or was obeyed.
func (c *TopicCommand) Failure() string { return c.failure }

// Step takes one input and does all that it makes possible.
func (c *TopicCommand) Step(in *step.Input, out *step.Effects) error {
	if c.deadline == 0 {
		c.deadline = in.Now + c.cfg.APITimeout
	}
	switch {
	case c.done:
		return nil
	case in.Kind == step.Terminate:
		out.Exit("closed")
		return nil
	case c.wake.Owns(in):
		c.wake.Fired(in)
	default:
		done := c.network.handle(in, out)
		for i := range done {
			c.answered(in, &done[i])
		}
	}
	if !c.done && in.Now >= c.deadline {
		c.end("no answer within " + strconv.FormatInt(int64(c.cfg.APITimeout/kafka.Millisecond), 10) + " ms")
	}
	if !c.done {
		next := c.network.maybeUpdate(in, out)
		next = min(next, c.ask(in, out), c.network.maybeUpdate(in, out))
		c.wake.Set(out, min(next, c.deadline))
		return nil
	}
	text, reason := TopicChanged, "done"
	if c.failure != "" {
		text, reason = TopicChangeRefused, c.failure
	}
	out.Note(event.Event{Kind: event.Probe, TP: kafka.TopicPartition{Topic: c.cfg.Topic}, Text: text})
	out.Exit(reason)
	return nil
}

// ask sends the request to the controller once it can go.
func (c *TopicCommand) ask(in *step.Input, out *step.Effects) kafka.Nanos {
	if c.asking {
		return kafka.Forever
	}
	if c.retryAt > in.Now {
		return c.retryAt
	}
	controller := c.network.meta.controller
	addr, ok := c.network.meta.addr(controller)
	if !ok {
		c.network.requestUpdate()
		return kafka.Forever
	}
	if !c.network.ready(in, out, controller) {
		if at := c.network.net.BackoffUntil(addr); at > in.Now {
			return at
		}
		return kafka.Forever
	}
	c.network.net.Send(in, out, addr, c.request(), 0, nil)
	c.asking = true
	return kafka.Forever
}

func (c *TopicCommand) request() kmsg.Request {
	if c.cfg.Create != nil {
		r := kmsg.NewPtrCreateTopicsRequest()
		r.Version = createTopicsVersion
		r.TimeoutMillis = int32(c.cfg.RequestTimeout / kafka.Millisecond)
		r.Topics = append(r.Topics, c.cfg.Create.request())
		return r
	}
	if c.cfg.Partitions == 0 {
		r := kmsg.NewPtrDeleteTopicsRequest()
		r.Version, r.TopicNames = deleteTopicsVersion, []string{c.cfg.Topic}
		r.TimeoutMillis = int32(c.cfg.RequestTimeout / kafka.Millisecond)
		return r
	}
	r := kmsg.NewPtrCreatePartitionsRequest()
	r.Version = createPartitionsVersion
	r.TimeoutMillis = int32(c.cfg.RequestTimeout / kafka.Millisecond)
	t := kmsg.NewCreatePartitionsRequestTopic()
	t.Topic, t.Count = c.cfg.Topic, c.cfg.Partitions
	r.Topics = append(r.Topics, t)
	return r
}

// answered ends a request: with a verdict on the topic, or with another attempt.
func (c *TopicCommand) answered(in *step.Input, done *netclient.Completion) {
	c.asking = false
	code, message, ok := c.verdict(done.Response)
	switch {
	case code == kafka.TopicAlreadyExists && c.lost && c.network.meta.topic(c.cfg.Topic).err == kafka.None:
		c.end("") // as far as one can tell, the request without an answer has created it
	case !ok, code == kafka.NotController, c.cfg.Create != nil && mayBeCreatedAgain(code):
		c.lost = c.lost || !ok
		c.retryAt = in.Now + c.cfg.RetryBackoff
		c.network.requestUpdateNow()
	case code == kafka.None:
		c.end("")
	default:
		c.end(code.String() + message)
	}
}

// verdict is what an answer says of the topic; ok is false if there is none.
func (c *TopicCommand) verdict(resp step.Message) (code kafka.ErrorCode, message string, ok bool) {
	if d, ok := resp.(*kmsg.DeleteTopicsResponse); ok && len(d.Topics) > 0 {
		return kafka.ErrorCode(d.Topics[0].ErrorCode), "", true
	}
	if t, ok := resp.(*kmsg.CreateTopicsResponse); ok && len(t.Topics) > 0 {
		return kafka.ErrorCode(t.Topics[0].ErrorCode), said(t.Topics[0].ErrorMessage), true
	}
	r, ok := resp.(*kmsg.CreatePartitionsResponse)
	if !ok {
		return 0, "", false
	}
	i := slices.IndexFunc(r.Topics, func(t kmsg.CreatePartitionsResponseTopic) bool { return t.Topic == c.cfg.Topic })
	if i < 0 {
		return 0, "", false
	}
	return kafka.ErrorCode(r.Topics[i].ErrorCode), said(r.Topics[i].ErrorMessage), true
}

// mayBeCreatedAgain: the earlier topic of the name is not gone, or brokers are missing.
func mayBeCreatedAgain(code kafka.ErrorCode) bool {
	return code == kafka.TopicAlreadyExists || mayStillBeCreated(code)
}

func said(message *string) string {
	if message == nil || *message == "" {
		return ""
	}
	return ": " + *message
}

func (c *TopicCommand) end(failure string) { c.done, c.failure = true, failure }
