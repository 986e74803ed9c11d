package cluster

import (
	"os"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/simkafka/simkafka/model/kafka"
	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/scenarios"
)

// The loads C0, W1, W2 and C1 are built-in scenarios. Time is CPU time of the
// process, which a busy neighbour does not count in. Counted: the whole run from
// its start to the verdict, settling and reading back included, with invariants
// and fingerprint on.

func BenchmarkC0(b *testing.B) { load(b, "c0") }
func BenchmarkW1(b *testing.B) { load(b, "w1") }
func BenchmarkW2(b *testing.B) { load(b, "w2") }
func BenchmarkC1(b *testing.B) { load(b, "c1", validC1) }

// ran is one run with what the kernel counted.
type ran struct {
	*outcome.Result
	c          *Cluster
	dispatched uint64
	// undisturbed is how much of that came between the start of the load and the
	// first fault, which lasted quiet.
	undisturbed uint64
	quiet       kafka.Nanos
	cpu         time.Duration
}

// measured runs a built-in scenario.
func measured(b testing.TB, name string, opts Options) ran {
	return measuredSpec(b, builtin(b, name), opts)
}

func measuredSpec(b testing.TB, s *scenarios.Spec, opts Options) ran {
	start := cpuTime()
	c, err := New(s, opts)
	if err != nil {
		b.Fatal(err)
	}
	r := ran{c: c}
	c.k.At(s.WorkloadStart(), func() { r.undisturbed = c.k.Dispatched() })
	for _, e := range s.Events[:min(len(s.Events), 1)] {
		at := max(e.Trigger.At, e.Trigger.From)
		r.quiet = at - s.WorkloadStart()
		c.k.At(at, func() { r.undisturbed = c.k.Dispatched() - r.undisturbed })
	}
	r.Result = c.Run()
	r.dispatched, r.cpu = c.k.Dispatched(), cpuTime()-start
	return r
}

// load runs a scenario with seeds 1, 2 and so on.
func load(b *testing.B, name string, valid ...func(*testing.B, ran)) {
	loadSpec(b, func() *scenarios.Spec { return builtin(b, name) }, valid...)
}

func loadSpec(b *testing.B, spec func() *scenarios.Spec, valid ...func(*testing.B, ran)) {
	var cpu time.Duration
	var events, dispatched, acked, simulated float64
	runs, warm := 0.0, new(Warm)
	b.ReportAllocs()
	for b.Loop() {
		runs++
		r := measuredSpec(b, spec(), Options{Seed: uint64(runs), Warm: warm})
		if r.Verdict != outcome.Pass {
			b.Fatalf("seed %d: %v", r.Seed, r.Why)
		}
		for _, check := range valid {
			check(b, r)
		}
		cpu += r.cpu
		events += float64(r.Events)
		dispatched += float64(r.dispatched)
		acked += float64(r.Records.Acked)
		simulated += float64(r.c.spec.Duration) / 1e9
	}
	b.ReportMetric(0, "ns/op")
	b.ReportMetric(events/runs, "steps/run")
	b.ReportMetric(dispatched/runs, "events/run")
	b.ReportMetric(acked/runs, "acked/run")
	b.ReportMetric(1e3*cpu.Seconds()/runs, "cpu-ms/run")
	b.ReportMetric(1e9*cpu.Seconds()/dispatched, "cpu-ns/event")
	b.ReportMetric(simulated/cpu.Seconds(), "sim-s/cpu-s")
	b.ReportMetric(3600*runs/cpu.Seconds(), "seeds/cpu-h")
	b.ReportMetric(statusMiB(b, "VmHWM:"), "peak-MiB")
}

// validC1 is the rule by which a C1 run counts: of what was meant to be sent 99 % is
// acknowledged, every group got each record that stands in the log, at least 20,000
// events a simulated second before the first fault (with faults it is less, because
// producers with one request in flight wait out an election). That a second run
// gives the same fingerprint is checked for the first seed.
func validC1(b *testing.B, r ran) {
	s := r.c.spec
	var rate, groups int64
	for i := range s.Producers {
		rate += s.Producers[i].RatePerMil * int64(s.Producers[i].Count) / 1000
	}
	groups = int64(len(s.Consumers))
	loaded := s.Duration - s.WorkloadStart()
	if want := rate * int64(loaded/kafka.Millisecond) / 1000; r.Records.Acked*100 < want*99 {
		b.Errorf("%d records acknowledged of %d", r.Records.Acked, want)
	}
	if r.Records.Delivered < groups*r.Records.Acked {
		b.Errorf("%d deliveries of %d records to %d groups", r.Records.Delivered, r.Records.Acked, groups)
	}
	if int64(r.undisturbed) < 20_000*int64(r.quiet/kafka.Second) {
		b.Errorf("%d events in the %s before the first fault", r.undisturbed, r.quiet)
	}
	b.ReportMetric(float64(r.undisturbed)*1e9/float64(r.quiet), "events/quiet-s")
	if r.Seed != 1 {
		return
	}
	if again := measured(b, "c1", Options{Seed: 1}); again.Fingerprint != r.Fingerprint {
		b.Errorf("fingerprints %s and %s", r.Fingerprint, again.Fingerprint)
	}
}

// PA13: what the invariants and the fingerprint cost, in percent of a run with them.
// The variants take turns; the medians of the rounds are reported.
func BenchmarkChecking(b *testing.B) {
	for _, name := range []string{"w1", "c1"} {
		b.Run(name, func(b *testing.B) {
			var invariants, fingerprint []float64
			seed := uint64(0)
			for b.Loop() {
				seed++
				with := measured(b, name, Options{Seed: seed}).cpu.Seconds()
				without := measured(b, name, Options{Seed: seed, Unchecked: true}).cpu.Seconds()
				unfolded := measured(b, name, Options{Seed: seed, NoFingerprint: true}).cpu.Seconds()
				invariants = append(invariants, 100*(with-without)/with)
				fingerprint = append(fingerprint, 100*(with-unfolded)/with)
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(median(invariants), "invariants-%")
			b.ReportMetric(median(fingerprint), "fingerprint-%")
		})
	}
}

func median(v []float64) float64 {
	slices.Sort(v)
	return v[len(v)/2]
}

// cpuTime is what this process has used, user and system.
func cpuTime() time.Duration {
	var u syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &u); err != nil {
		panic(err)
	}
	return time.Duration(u.Utime.Nano() + u.Stime.Nano())
}

// PA12: the most memory that one run takes, and how much of it is pages of the
// executable, which processes share. It counts for a process that does nothing else:
// -bench 'Memory/^w1$' -benchtime 1x.
func BenchmarkMemory(b *testing.B) {
	for _, x := range []struct {
		name, scenario string
		duration       kafka.Nanos
	}{{"w1", "w1", 0}, {"c1", "c1", 0}, {"c1-hour", "c1", kafka.Hour}} {
		b.Run(x.name, func(b *testing.B) {
			for b.Loop() {
				s := builtin(b, x.scenario)
				s.Duration = max(s.Duration, x.duration)
				if r := measuredSpec(b, s, Options{Seed: 1}); r.Verdict != outcome.Pass {
					b.Fatal(r.Why)
				}
			}
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(statusMiB(b, "VmHWM:"), "peak-MiB")
			b.ReportMetric(statusMiB(b, "RssFile:"), "executable-MiB")
		})
	}
}

// statusMiB is a figure of this process's memory; VmHWM is the most that it has held,
// pages of its executable included. 0 where the system does not tell.
func statusMiB(b *testing.B, name string) float64 {
	status, err := os.ReadFile("/proc/self/status")
	if err != nil {
		return 0
	}
	_, rest, _ := strings.Cut(string(status), name)
	kib, err := strconv.ParseFloat(strings.Fields(rest)[0], 64)
	if err != nil {
		b.Fatal(err)
	}
	return kib / 1024
}
