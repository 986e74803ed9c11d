package group

import (
	"bytes"
	"strings"

	"github.com/simkafka/simkafka/model/event"
	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/step"
)

// Caller is whom to answer.
type Caller struct {
	Conn        step.ConnID
	Correlation int32
	// Client is the client id; its host is taken to have the same name.
	Client string
}

// waiting is a parked request.
type waiting struct {
	Caller
	version int16
	parked  bool
}

// Protocol is one that a member supports, with its metadata.
type Protocol struct {
	Name     string
	Metadata []byte
}

// Member is a member of a group (MemberMetadata).
type Member struct {
	id               string
	instance         string // group.instance.id, "" = dynamic
	client, host     string
	rebalanceTimeout kafka.Nanos
	sessionTimeout   kafka.Nanos
	protocols        []Protocol // in the member's order of preference
	assignment       []byte

	join, sync waiting
	// isNew: it has not been in a completed join yet; being parked does not protect it.
	isNew bool
	// syncPending: its SyncGroup of this generation has not come.
	syncPending bool
	session     deadline
}

// ID is the member id.
func (m *Member) ID() string { return m.id }

// Instance is the group instance id, "" for a dynamic member.
func (m *Member) Instance() string { return m.instance }

// Client is the client id.
func (m *Member) Client() string { return m.client }

// Host is the client's host as Kafka prints it.
func (m *Member) Host() string { return m.host }

// Assignment is what the leader gave it last. It is immutable.
func (m *Member) Assignment() []byte { return m.assignment }

func (m *Member) isStatic() bool { return m.instance != "" }

// metadata is that of a protocol, which the member must support.
func (m *Member) metadata(protocol string) []byte {
	for i := range m.protocols {
		if m.protocols[i].Name == protocol {
			return m.protocols[i].Metadata
		}
	}
	panic("group: member " + m.id + " does not support " + protocol)
}

// supports lists the names of its protocols, by commas.
func (m *Member) supports() string {
	names := make([]string, len(m.protocols))
	for i := range m.protocols {
		names[i] = m.protocols[i].Name
	}
	return strings.Join(names, ",")
}

// matches: it would bring nothing new.
func (m *Member) matches(protocols []Protocol) bool {
	if len(protocols) != len(m.protocols) {
		return false
	}
	for i := range protocols {
		if protocols[i].Name != m.protocols[i].Name || !bytes.Equal(protocols[i].Metadata, m.protocols[i].Metadata) {
			return false
		}
	}
	return true
}

// answerJoin answers a member's parked JoinGroup, if it has one.
func (c *Coordinator) answerJoin(out *step.Effects, g *Group, m *Member, r *joinResult) {
	if !m.join.parked {
		return
	}
	w := m.join
	m.join = waiting{}
	g.awaitingJoin--
	c.replyJoin(out, g, w, r)
}

// answerSync answers a member's parked SyncGroup and reports whether it has one.
func (c *Coordinator) answerSync(out *step.Effects, g *Group, m *Member, code kafka.ErrorCode) bool {
	if !m.sync.parked {
		return false
	}
	w := m.sync
	m.sync = waiting{}
	c.replySync(out, g, w, m.id, m.assignment, code)
	return true
}

// noteMember notes that a member came or went.
func (c *Coordinator) noteMember(out *step.Effects, kind event.Kind, g *Group, m *Member, how string) *event.Event {
	e := c.fact(out, kind, g)
	e.Member, e.Generation, e.Detail, e.Text = m.id, g.generation, m.instance, how
	return e
}
