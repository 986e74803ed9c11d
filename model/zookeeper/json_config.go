package zookeeper

import (
	"slices"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// ConfigEntry is one override of a /config znode.
type ConfigEntry struct{ Key, Value string }

// EncodeConfig writes /config/topics/T and its like.
func EncodeConfig(entries []ConfigEntry) []byte {
	b := append(header(1), `,"config":{`...)
	for i, e := range entries {
		b = appendString(comma(b, i), e.Key)
		b = appendString(append(b, ':'), e.Value)
	}
	return append(b, "}}"...)
}

// DecodeConfig reads /config/topics/T, sorted by key; a repeated key keeps its
// last value. An empty znode has no overrides.
func DecodeConfig(data []byte) ([]ConfigEntry, error) {
	if len(data) == 0 {
		return nil, nil
	}
	var entries []ConfigEntry
	s := scanner{b: data}
	for i := s.open('{'); s.more(&i, '}'); {
		if string(s.key()) != "config" {
			s.skip()
			continue
		}
		entries = nil
		for j := s.open('{'); s.more(&j, '}'); {
			e := ConfigEntry{Key: string(s.key())}
			e.Value = s.string()
			entries = setEntry(entries, e)
		}
	}
	return entries, s.finish("config", true)
}

func setEntry(sorted []ConfigEntry, e ConfigEntry) []ConfigEntry {
	i, found := slices.BinarySearchFunc(sorted, e.Key, func(a ConfigEntry, k string) int { return strings.Compare(a.Key, k) })
	if found {
		sorted[i] = e
		return sorted
	}
	return slices.Insert(sorted, i, e)
}

// EncodeConfigChange writes a notification; entity is "topics/T" or "brokers/1".
func EncodeConfigChange(entity string) []byte {
	return append(appendString([]byte(`{"version":2,"entity_path":`), entity), '}')
}

// DecodeConfigChange reads a notification.
func DecodeConfigChange(data []byte) (entity string, err error) {
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		if string(s.key()) == "entity_path" {
			entity, seen = s.string(), true
		} else {
			s.skip()
		}
	}
	return entity, s.finish("config change", seen)
}

// EncodeLogDirEvent writes a broker's notice that a log directory failed.
func EncodeLogDirEvent(broker kafka.NodeID) []byte {
	return append(appendInt(header(1), `,"broker":`, int64(broker)), `,"event":1}`...)
}

// DecodeLogDirEvent reads the broker whose directory failed.
func DecodeLogDirEvent(data []byte) (broker kafka.NodeID, err error) {
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		if string(s.key()) == "broker" {
			broker, seen = kafka.NodeID(s.int32()), true
		} else {
			s.skip()
		}
	}
	return broker, s.finish("log directory event", seen)
}

// EncodeClusterID writes /cluster/id.
func EncodeClusterID(id string) []byte {
	return append(appendString([]byte(`{"version":"1","id":`), id), '}')
}

// DecodeClusterID reads /cluster/id.
func DecodeClusterID(data []byte) (id string, err error) {
	s, seen := scanner{b: data}, false
	for i := s.open('{'); s.more(&i, '}'); {
		if string(s.key()) == "id" {
			id, seen = s.string(), true
		} else {
			s.skip()
		}
	}
	return id, s.finish("cluster id", seen)
}
