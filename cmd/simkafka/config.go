package main

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/simkafka/simkafka/model/config"
	"github.com/simkafka/simkafka/report"
	"github.com/simkafka/simkafka/scenarios"
)

// scopes of settings, in the order of the list.
var scopes = []struct {
	name, about string
	keys        func() []config.Key
}{
	{"broker", "cluster.config in a scenario, --set KEY=VALUE", config.BrokerKeys},
	{"topic", "config of a topic, --set topic:NAME:KEY=VALUE", config.TopicKeys},
	{"producer", "config of a producer, --set producer.KEY=VALUE", config.ProducerKeys},
	{"consumer", "config of a consumer, --set consumer.KEY=VALUE", config.ConsumerKeys},
	{"zookeeper", "cluster.zookeeper.config in a scenario", config.ZooKeeperKeys},
}

func newConfig(a *app) *cobra.Command {
	cmd := group(&cobra.Command{Use: "config", Short: "The Kafka settings that are honoured"})
	var protocol, scope string
	list := &cobra.Command{Use: "list", Short: "List every honoured setting with its unit and default", Args: noArgs,
		Long: "Lists every honoured Kafka setting. Defaults are those of the newest profile; where older ones differ, it says so.\n" +
			"With --protocol the defaults of that profile.",
		RunE: func(*cobra.Command, []string) error { return a.listConfig(protocol, scope) }}
	list.Flags().StringVar(&protocol, "protocol", "", "defaults of this `profile` ("+strings.Join(config.ProfileNames(), ", ")+")")
	list.Flags().StringVar(&scope, "scope", "", "settings of one `scope` only: broker, topic, producer, consumer, zookeeper")
	cmd.AddCommand(list)
	return cmd
}

func (a *app) listConfig(protocol, scope string) error {
	age := len(config.ProfileNames()) - 1
	if protocol != "" {
		if age = slices.Index(config.ProfileNames(), protocol); age < 0 {
			return usage("unknown protocol %q%s", protocol, oneOf(protocol, config.ProfileNames()))
		}
	}
	var names []string
	for _, s := range scopes {
		names = append(names, s.name)
	}
	if scope != "" && !slices.Contains(names, scope) {
		return usage("unknown scope %q%s", scope, oneOf(scope, names))
	}
	return a.print(func(w io.Writer) error {
		st := a.style(w)
		st.Width = max(st.Width, 100) // names are there to be copied whole
		for i, s := range scopes {
			if scope != "" && scope != s.name {
				continue
			}
			if i > 0 && scope == "" {
				fmt.Fprintln(w)
			}
			fmt.Fprintf(w, "%s  %s\n", st.Bold(s.name), s.about)
			if err := settingsTable(s.keys(), age, protocol == "").Write(w, st); err != nil {
				return err
			}
		}
		return nil
	})
}

func settingsTable(keys []config.Key, age int, older bool) report.Table {
	t := report.Table{Columns: []report.Column{{Name: "setting"}, {Name: "unit"}, {Name: "default"}}, Indent: "  "}
	for i := range keys {
		k := &keys[i]
		value := defaultAt(k, age)
		if older {
			for _, o := range k.Older {
				value += fmt.Sprintf(" (before %s: %s)", o.Before, o.Default)
			}
		}
		unit := k.Unit
		switch {
		case unit == "true or false":
			unit = "boolean"
		case strings.Contains(unit, ", "):
			value += " (of " + unit + ")"
			unit = "word"
		}
		if scenarios.NoEffect(k.Name) != "" {
			value += " (no effect)"
		}
		for n, line := range report.Wrap(value, defaultWidth) {
			if n == 0 {
				t.Rows = append(t.Rows, []string{k.Name, unit, line})
			} else {
				t.Rows = append(t.Rows, []string{"", "", "  " + line})
			}
		}
	}
	return t
}

// defaultWidth is the width of the column of defaults; longer ones take more lines.
const defaultWidth = 30

// defaultAt is a setting's default in the profile with this place in the list.
func defaultAt(k *config.Key, age int) string {
	value := k.Default
	for i := len(k.Older) - 1; i >= 0; i-- {
		if age < slices.Index(config.ProfileNames(), k.Older[i].Before) {
			value = k.Older[i].Default
		}
	}
	return value
}
