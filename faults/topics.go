package faults

import "fmt"

// CreatePartitions is an administrator who gives a topic more partitions (simulation O2,
// groups 6.6).
type CreatePartitions struct {
	Topic      string
	Partitions int32 // in all; more than there are
}

// Word implements Fault.
func (f CreatePartitions) Word() string { return "create_partitions" }

func (f CreatePartitions) String() string {
	return fmt.Sprintf("create_partitions: {topic: %s, partitions: %d}", f.Topic, f.Partitions)
}

// Selectors implements Fault.
func (f CreatePartitions) Selectors() []Selector { return nil }

// Start implements Fault.
func (f CreatePartitions) Start(t Target, c Context) (string, func(Target), error) {
	return t.CreatePartitions(f.Topic, f.Partitions), nil, nil
}

// DeleteTopic is an administrator who deletes a topic (simulation O2, groups 6.6).
type DeleteTopic struct{ Topic string }

// Word implements Fault.
func (f DeleteTopic) Word() string { return "delete_topic" }

func (f DeleteTopic) String() string { return "delete_topic: " + f.Topic }

// Selectors implements Fault.
func (f DeleteTopic) Selectors() []Selector { return nil }

// Start implements Fault.
func (f DeleteTopic) Start(t Target, c Context) (string, func(Target), error) {
	return t.DeleteTopic(f.Topic), nil, nil
}

// CreateTopic is an administrator who creates a topic again that was deleted, with the
// partitions, replicas and settings that the scenario gives it; while it is still there, or
// marked for deletion, they ask again.
type CreateTopic struct{ Topic string }

// Word implements Fault.
func (f CreateTopic) Word() string { return "create_topic" }

func (f CreateTopic) String() string { return "create_topic: " + f.Topic }

// Selectors implements Fault.
func (f CreateTopic) Selectors() []Selector { return nil }

// Start implements Fault.
func (f CreateTopic) Start(t Target, c Context) (string, func(Target), error) {
	return t.CreateTopic(f.Topic), nil, nil
}
