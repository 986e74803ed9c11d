package perf

import (
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"testing"
)

// tiny is enough for every case to do its work once; nothing is timed here.
func tiny(t *testing.T) Options {
	return Options{Dir: t.TempDir(), Runs: 2, Size: 2 << 20}
}

func TestEveryWorkloadMeasuresAndCleansUp(t *testing.T) {
	for _, w := range Workloads() {
		t.Run(w.Name, func(t *testing.T) {
			o := tiny(t)
			told := 0
			o.Progress = func(done, all int, what string) {
				if done != told || done >= all || what == "" {
					t.Errorf("progress %d of %d, %q", done, all, what)
				}
				told++
			}
			r, err := Run(w, o)
			if err != nil {
				t.Fatal(err)
			}
			if len(r.Rows) == 0 || r.Env.OS != runtime.GOOS || r.Env.FileSystem == "" {
				t.Errorf("report: %+v", r)
			}
			for _, row := range r.Rows {
				if len(row.WallNs.All) != o.Runs || row.WallNs.Min > row.WallNs.Median || row.WallNs.Median > row.WallNs.Max {
					t.Errorf("%s: rounds %v", row.Name, row.WallNs)
				}
				if row.Rate == nil && row.OpPs == nil {
					t.Errorf("%s: nothing was counted", row.Name)
				}
			}
			if entries, _ := os.ReadDir(o.Dir); len(entries) > 0 {
				t.Errorf("left behind: %v", entries)
			}
		})
	}
}

func path(r *Report, row, path string) int64 {
	for _, x := range r.Rows {
		for _, p := range x.Paths {
			if x.Name == row && p.Path == path {
				return p.Bytes
			}
		}
	}
	return 0
}

func TestPathsAreThoseTaken(t *testing.T) {
	w, _ := Find("sendfile")
	r, err := Run(w, tiny(t))
	if err != nil {
		t.Fatal(err)
	}
	linux := runtime.GOOS == "linux"
	for row, by := range map[string]string{
		"16k-chosen": "combined write", "1m-combined write": "combined write", "1m-mmap+write": "mmap+write",
		"1m-read+write": "read+write", "stream-tls-chosen": "tls",
	} {
		if path(r, row, by) == 0 {
			t.Errorf("%s: nothing went by %s", row, by)
		}
	}
	for _, row := range []string{"stream-chosen", "1m-chosen", "16k-sendfile"} {
		if by := path(r, row, "sendfile"); (by > 0) != linux {
			t.Errorf("%s: %d bytes by sendfile", row, by)
		}
	}
	w, _ = Find("append")
	if r, err = Run(w, tiny(t)); err != nil {
		t.Fatal(err)
	}
	if path(r, "leader-16", "pwrite") < 2<<20 || linux && path(r, "leader-16", "mmap") == 0 {
		t.Error("the log did not write, or not into a mapped index")
	}
}

func TestOnlyKeepsCases(t *testing.T) {
	w, _ := Find("append")
	o := tiny(t)
	o.Only = "follower"
	r, err := Run(w, o)
	if err != nil || len(r.Rows) != 2 {
		t.Errorf("%v, %v", r, err)
	}
	o.Only = "nothing of that name"
	if _, err := Run(w, o); err == nil {
		t.Error("no error")
	}
}

func TestStopEndsAndCleansUp(t *testing.T) {
	w, _ := Find("recover")
	o := tiny(t)
	n := 0
	o.Stop = func() bool { n++; return n > 2 }
	if _, err := Run(w, o); !errors.Is(err, ErrStopped) {
		t.Errorf("error is %v", err)
	}
	if entries, _ := os.ReadDir(o.Dir); len(entries) > 0 {
		t.Errorf("left behind: %v", entries)
	}
}

func TestClaimRefusesWhatIsNotOurs(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "a[b")
	if made, err := Claim(dir); err != nil || !made {
		t.Fatal(made, err)
	}
	left := filepath.Join(dir, mark+"log")
	if err := os.MkdirAll(filepath.Join(left, "deep"), 0o777); err != nil {
		t.Fatal(err)
	}
	if made, err := Claim(dir); err != nil || made {
		t.Errorf("made %v, %v", made, err)
	}
	if _, err := os.Stat(left); !errors.Is(err, os.ErrNotExist) {
		t.Error("what was left is still there")
	}
	mine := filepath.Join(dir, "thesis.txt")
	if err := os.WriteFile(mine, nil, 0o666); err != nil {
		t.Fatal(err)
	}
	foreign := (*ForeignFileError)(nil)
	if _, err := Claim(dir); !errors.As(err, &foreign) || foreign.Name != "thesis.txt" {
		t.Errorf("error is %v", err)
	}
	if _, err := os.Stat(mine); err != nil {
		t.Error(err)
	}
}
