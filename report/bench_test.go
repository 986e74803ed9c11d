package report

import "testing"

// BenchmarkWriteDir draws ten charts and writes every file; the goal is 12 charts in
// less than 2 s (interface U30).
func BenchmarkWriteDir(b *testing.B) {
	dir, r := b.TempDir(), crashRun()
	b.ReportAllocs()
	for b.Loop() {
		if err := WriteDir(dir, r, DirOptions{}); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkTraceFact(b *testing.B) {
	tr := NewTrace(discard{})
	r := violatedRun()
	e := &r.Violations[0].Recent[0]
	b.ReportAllocs()
	for b.Loop() {
		tr.Event(e)
	}
}

type discard struct{}

func (discard) Write(p []byte) (int, error) { return len(p), nil }
