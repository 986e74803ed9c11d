package perf

import (
	"cmp"
	"slices"
)

// Schema names the format of a Report as JSON.
const Schema = "simkafka.perf/v1"

// Report is what a measurement found. Figures are whole numbers; their units are in the
// names.
type Report struct {
	Schema   string   `json:"schema"`
	Workload string   `json:"workload"`
	About    string   `json:"about"`
	Env      Env      `json:"environment"`
	Runs     int      `json:"runs"`       // counted rounds
	Size     int64    `json:"size_bytes"` // asked for, of one run of a case
	Rows     []Row    `json:"rows"`
	Notes    []string `json:"notes"` // what the figures do not say
}

// Env is where it was measured. A measured report belongs to its machine; what names it
// is left out.
type Env struct {
	OS         string `json:"os"`
	Arch       string `json:"arch"`
	Kernel     string `json:"kernel"`      // release; empty if it is not known
	FileSystem string `json:"file_system"` // of the directory
	CPUs       int    `json:"cpus"`        // that the process may use
	Go         string `json:"go"`
	// Load is the machine's load average of the last minute in hundredths, at the end;
	// -1 if it is not known. Above CPUs the figures are those of a busy machine.
	Load int64 `json:"load_centi"`
}

// Row is one case.
type Row struct {
	Name  string `json:"name"`
	Title string `json:"title"`
	Disk  string `json:"disk"` // real, sim (the simulated disk) or raw: system calls without a log

	WallNs  Spread  `json:"wall_ns"`
	Bytes   int64   `json:"bytes"`   // of one run
	Records int64   `json:"records"` // of one run
	Ops     int64   `json:"ops"`     // of one run: lookups, loads, fetches
	Rate    *Spread `json:"bytes_per_s"`
	Recs    *Spread `json:"records_per_s"`
	OpPs    *Spread `json:"ps_per_op"` // picoseconds
	// CPU is that of the measuring process; of sendfile it is the sender's.
	CPU    *Spread `json:"cpu_ns_per_gb"`
	Reader *Spread `json:"reader_cpu_ns_per_gb"` // of sendfile, if it was told apart
	// Paths are the bytes of one run by the way that they really took, the median run.
	Paths []PathBytes `json:"paths"`
}

// PathBytes is how much went which way.
type PathBytes struct {
	Path  string `json:"path"`
	Bytes int64  `json:"bytes"`
}

// Spread is a figure over the counted rounds.
type Spread struct {
	Median int64   `json:"median"`
	Min    int64   `json:"min"`
	Max    int64   `json:"max"`
	All    []int64 `json:"rounds"` // in order
}

func spread(samples []*run, of func(*run) int64) *Spread {
	s := &Spread{}
	for _, r := range samples {
		s.All = append(s.All, of(r))
	}
	sorted := slices.Sorted(slices.Values(s.All))
	s.Median, s.Min, s.Max = sorted[len(sorted)/2], sorted[0], sorted[len(sorted)-1]
	return s
}

const giga = 1e9

// perSecond is n over the wall time of r.
func perSecond(n int64, r *run) int64 { return int64(float64(n) / max(r.wall.Seconds(), 1e-9)) }

func rowOf(c *testCase, samples []*run) Row {
	last := samples[len(samples)-1]
	row := Row{Name: c.name, Title: c.title, Disk: c.disk, Bytes: last.bytes, Records: last.records, Ops: last.ops}
	row.WallNs = *spread(samples, func(r *run) int64 { return r.wall.Nanoseconds() })
	if last.bytes > 0 {
		row.Rate = spread(samples, func(r *run) int64 { return perSecond(r.bytes, r) })
		row.CPU = spread(samples, func(r *run) int64 { return int64(float64(r.cpu.Nanoseconds()) * giga / float64(r.bytes)) })
	}
	if last.records > 0 {
		row.Recs = spread(samples, func(r *run) int64 { return perSecond(r.records, r) })
	}
	if last.ops > 0 {
		row.OpPs = spread(samples, func(r *run) int64 { return int64(float64(r.wall.Nanoseconds()) * 1000 / float64(r.ops)) })
	}
	if last.reader > 0 && last.bytes > 0 {
		row.Reader = spread(samples, func(r *run) int64 { return int64(float64(r.reader.Nanoseconds()) * giga / float64(r.bytes)) })
	}
	middle := slices.SortedFunc(slices.Values(samples), func(a, b *run) int { return cmp.Compare(a.wall, b.wall) })[len(samples)/2]
	for path, n := range middle.paths {
		if n > 0 {
			row.Paths = append(row.Paths, PathBytes{path, n})
		}
	}
	slices.SortFunc(row.Paths, func(a, b PathBytes) int { return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Path, b.Path)) })
	return row
}

// notes are the caveats of a workload.
func notes(workload string) []string {
	switch workload {
	case "sendfile":
		return []string{
			"loopback: the receiver's copy reads the page cache itself, so that sendfile moves cost from the sender to the reader",
			"loopback: part of the receiver's work in the kernel is charged to the sender; a network card would copy by DMA",
		}
	case "read", "recover":
		return []string{"page cache, unless a row says cold"}
	case "append":
		return []string{"page cache; what is not synced has not reached the device"}
	}
	return []string{}
}
