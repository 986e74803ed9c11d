package scenarios

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v4"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/model/kafka"
)

// Hardware is what a broker's disk costs, as simkafka perf measures it. It takes the
// place of the built-in costs as a whole.
type Hardware struct {
	About    string // where it was measured, for people
	Append   Cost   // a write into the page cache
	ReadHit  Cost   // a read of cached bytes into the process
	ReadMiss Cost   // what a read from the device takes on top of that
	Fsync    Cost   // a sync: call and bytes to the device
	// FsyncJitter: up to so much is drawn on top of each sync.
	FsyncJitter kafka.Nanos
	Sendfile    Cost        // bytes of a fetch's answer, from the page cache to the network
	Metadata    kafka.Nanos // create, open, remove, rename, truncate, list, stat
}

// Cost is the price of one call and of each KiB that it moves. A KiB, as a byte costs
// less than a nanosecond.
type Cost struct{ Call, PerKiB kafka.Nanos }

// hardwareKind is the second line of a hardware profile in a file of its own.
const hardwareKind = "hardware"

// maxCost bounds a price, so that sums of prices cannot overflow.
const maxCost = kafka.Minute

// hardware reads the key of a scenario: the path of a profile, or the costs themselves.
func (l *loader) hardware(n *yaml.Node) {
	l.either(n, l.hardwareFile, func(n *yaml.Node) { l.spec.Hardware = l.hardwareCosts(n) })
}

func (l *loader) hardwareFile(n *yaml.Node) {
	path, ok := l.scalar(n, "hardware")
	if !ok {
		return
	}
	if l.open == nil {
		l.errorAt(n, "hardware: this scenario was not read from a file, so that it cannot name others")
		return
	}
	data, err := l.open(path)
	if err != nil {
		l.errorAt(n, "hardware: %v", cleanPathError(err))
		return
	}
	h, found := LoadHardware(path, data)
	for _, d := range found {
		l.errorAt(n, "%s:%d:%d: %s", path, d.Line, d.Col, d.Message)
	}
	l.spec.Hardware = h
}

// LoadHardware reads a hardware profile in a file of its own. With findings it is nil.
func LoadHardware(file string, data []byte) (*Hardware, []Diagnostic) {
	r := &reader{Diagnostics: &Diagnostics{File: file}}
	var h *Hardware
	if root := r.parse(data); root != nil {
		version, kind := "", ""
		h = r.hardwareCosts(root,
			field{"apiVersion", r.text("apiVersion", &version), true},
			field{"kind", r.word("kind", &kind, hardwareKind), true})
		if version != "" && version != APIVersion {
			r.errorAt(root, "apiVersion is %q; this simkafka reads %q", version, APIVersion)
		}
	}
	r.sort()
	if r.Errors() > 0 {
		return nil, r.List
	}
	return h, nil
}

// hardwareCosts reads the costs; head are keys before them.
func (r *reader) hardwareCosts(n *yaml.Node, head ...field) *Hardware {
	h := &Hardware{}
	r.mapping(n, "hardware", append(head,
		field{"about", r.text("about", &h.About), false},
		field{"append", r.cost("append", &h.Append, nil), true},
		field{"read_hit", r.cost("read_hit", &h.ReadHit, nil), true},
		field{"read_miss", r.cost("read_miss", &h.ReadMiss, nil), true},
		field{"fsync", r.cost("fsync", &h.Fsync, &h.FsyncJitter), true},
		field{"sendfile", r.cost("sendfile", &h.Sendfile, nil), true},
		field{"metadata", r.price("metadata", &h.Metadata), true},
	)...)
	return h
}

// cost reads {call: 2us, per_kib: 280ns}; jitter is a third key where it is not nil.
func (r *reader) cost(what string, to *Cost, jitter *kafka.Nanos) func(*yaml.Node) {
	return func(n *yaml.Node) {
		fields := []field{
			{"call", r.price(what+" call", &to.Call), true},
			{"per_kib", r.price(what+" per_kib", &to.PerKiB), true},
		}
		if jitter != nil {
			fields = append(fields, field{"jitter", r.price(what+" jitter", jitter), false})
		}
		r.mapping(n, what, fields...)
	}
}

// price reads a duration that a single call may take.
func (r *reader) price(what string, to *kafka.Nanos) func(*yaml.Node) {
	x := durations()
	x.parse = func(s string) (kafka.Nanos, error) {
		d, err := ParseDuration(s, false)
		if err == nil && d > maxCost {
			err = fmt.Errorf("%q is longer than a minute", s)
		}
		return d, err
	}
	return parsed(r, what, to, x)
}

// YAML prints the profile as a file of its own.
func (h *Hardware) YAML() string {
	p := &printer{}
	p.line(0, "apiVersion: %s", APIVersion)
	p.line(0, "kind: %s", hardwareKind)
	p.hardwareCosts(0, h)
	return p.b.String()
}

// hardware prints the costs into a scenario, so that it needs no other file.
func (p *printer) hardware(h *Hardware) {
	if h == nil {
		return
	}
	p.line(0, "hardware:")
	p.hardwareCosts(1, h)
}

func (p *printer) hardwareCosts(depth int, h *Hardware) {
	if about := strings.TrimSpace(h.About); about != "" {
		p.line(depth, "about: %s", quote(about))
	}
	cost := func(key string, c Cost, rest string) {
		p.line(depth, "%s: {call: %s, per_kib: %s%s}", key, faults.Duration(c.Call), faults.Duration(c.PerKiB), rest)
	}
	cost("append", h.Append, "")
	cost("read_hit", h.ReadHit, "")
	cost("read_miss", h.ReadMiss, "")
	cost("fsync", h.Fsync, ", jitter: "+faults.Duration(h.FsyncJitter))
	cost("sendfile", h.Sendfile, "")
	p.line(depth, "metadata: %s", faults.Duration(h.Metadata))
}
