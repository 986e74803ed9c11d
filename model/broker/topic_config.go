package broker

import (
	"errors"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/model/zookeeper"
)

// topicConfig applies a topic's overrides to the broker's defaults. Keys that are
// not modelled change nothing; a value that cannot be read leaves the default,
// since values are checked when they are written.
func topicConfig(base config.Topic, entries []zookeeper.ConfigEntry) config.Topic {
	t, _ := config.ParseTopic(base, settingsOf(entries))
	return t
}

// checkTopicConfig says what is wrong with the settings of a new topic, "" if
// nothing is. A key that is not modelled is stored as it is.
func checkTopicConfig(base config.Topic, entries []zookeeper.ConfigEntry) string {
	_, errs := config.ParseTopic(base, settingsOf(entries))
	for _, err := range errs {
		var bad *config.SettingError
		if !errors.As(err, &bad) || !bad.Unknown {
			return err.Error()
		}
	}
	return ""
}

func settingsOf(entries []zookeeper.ConfigEntry) []config.Setting {
	settings := make([]config.Setting, len(entries))
	for i, e := range entries {
		settings[i] = config.Setting{Key: e.Key, Value: e.Value}
	}
	return settings
}
