package config

import (
	"errors"
	"fmt"
	"strconv"
	"strings"

	"github.com/simkafka/simkafka/model/kafka"
)

// Key documents one honoured setting.
type Key struct {
	Name    string
	Unit    string // ms, bytes, records, … as Kafka counts it
	Default string // of the newest profile; "" = none
	Older   []OlderDefault
}

// OlderDefault is a default of the profiles before one.
type OlderDefault struct{ Before, Default string }

// key is a Key with the way into the typed struct.
type key[T any] struct {
	Key
	set func(*T, string) error
}

// older adds the default of profiles before the named one.
func (k key[T]) older(before, value string) key[T] {
	k.Older = append(k.Older, OlderDefault{before, value})
	return k
}

// defaultFor is the default in a profile.
func (k *Key) defaultFor(p *Profile) string {
	value := k.Default
	for i := len(k.Older) - 1; i >= 0; i-- {
		if before, _ := ProfileByName(k.Older[i].Before); p.age() < before.age() {
			value = k.Older[i].Default
		}
	}
	return value
}

// number is a whole number in [lo, hi].
func number[T any, N ~int | ~int8 | ~int32 | ~int64](name, unit, def string, lo, hi int64, field func(*T) *N) key[T] {
	return key[T]{Key{Name: name, Unit: unit, Default: def}, func(c *T, v string) error {
		n, err := parseNumber(v, unit, lo, hi)
		if err == nil {
			*field(c) = N(n)
		}
		return err
	}}
}

func parseNumber(v, unit string, lo, hi int64) (int64, error) {
	n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64)
	if err != nil {
		if unit == "" {
			return 0, fmt.Errorf("%q is not a whole number", v)
		}
		return 0, fmt.Errorf("%q is not a whole number (unit: %s)", v, unit)
	}
	if n < lo {
		return 0, fmt.Errorf("%d is below the least allowed value %d", n, lo)
	}
	if n > hi {
		return 0, fmt.Errorf("%d is above the largest allowed value %d", n, hi)
	}
	return n, nil
}

// duration is a number of milliseconds (or scale times as many) kept as Nanos.
func duration[T any](name, unit, def string, lo int64, scale kafka.Nanos, field func(*T) *kafka.Nanos) key[T] {
	return key[T]{Key{Name: name, Unit: unit, Default: def}, func(c *T, v string) error {
		n, err := parseNumber(v, unit, lo, 1<<63-1)
		if err != nil {
			return err
		}
		if n >= int64(kafka.Forever/scale) {
			*field(c) = kafka.Forever
		} else {
			*field(c) = kafka.Nanos(n) * scale
		}
		return nil
	}}
}

func millis[T any](name, def string, lo int64, field func(*T) *kafka.Nanos) key[T] {
	return duration(name, "ms", def, lo, kafka.Millisecond, field)
}

func boolean[T any](name, def string, field func(*T) *bool) key[T] {
	return key[T]{Key{Name: name, Unit: "true or false", Default: def}, func(c *T, v string) error {
		switch strings.ToLower(strings.TrimSpace(v)) {
		case "true":
			*field(c) = true
		case "false":
			*field(c) = false
		default:
			return fmt.Errorf("%q is neither true nor false", v)
		}
		return nil
	}}
}

// words is one of some words; set gets it.
func words[T any](name, def string, allowed []string, set func(*T, string)) key[T] {
	return key[T]{Key{Name: name, Unit: strings.Join(allowed, ", "), Default: def}, func(c *T, v string) error {
		v = strings.TrimSpace(v)
		for _, w := range allowed {
			if v == w {
				set(c, v)
				return nil
			}
		}
		return fmt.Errorf("%q is not one of %s", v, strings.Join(allowed, ", "))
	}}
}

// word is any text but an empty one; it has no default.
func word[T any](name, unit string, set func(*T, string) error) key[T] {
	return key[T]{Key{Name: name, Unit: unit}, func(c *T, v string) error {
		if v = strings.TrimSpace(v); v == "" {
			return errors.New("must not be empty")
		}
		return set(c, v)
	}}
}

// apply gives every key its default, then the settings in their order, a later one
// winning. Keys stand in the table from the weakest to the strongest of those that
// mean the same (log.roll.hours, log.roll.ms), as Kafka prefers them.
func apply[T any](c *T, p *Profile, keys []key[T], settings []Setting) []error {
	var errs []error
	for i := range keys {
		if v := keys[i].defaultFor(p); v != "" {
			if err := keys[i].set(c, v); err != nil {
				panic("config: default of " + keys[i].Name + ": " + err.Error())
			}
		}
	}
	known := make(map[string]bool, len(keys))
	for i := range keys {
		known[keys[i].Name] = true
		for _, s := range settings {
			if s.Key != keys[i].Name {
				continue
			}
			if err := keys[i].set(c, s.Value); err != nil {
				errs = append(errs, &SettingError{Setting: s, Reason: err.Error()})
			}
		}
	}
	for _, s := range settings {
		if !known[s.Key] {
			errs = append(errs, &SettingError{Setting: s, Reason: "not a setting that simkafka models here", Unknown: true})
		}
	}
	return errs
}

// SettingError is a setting that cannot be taken.
type SettingError struct {
	Setting Setting
	Reason  string
	Unknown bool // the key itself, not its value
}

func (e *SettingError) Error() string {
	return fmt.Sprintf("%s=%s: %s", e.Setting.Key, e.Setting.Value, e.Reason)
}

func documentation[T any](keys []key[T]) []Key {
	out := make([]Key, len(keys))
	for i := range keys {
		out[i] = keys[i].Key
	}
	return out
}
