package archtest

import (
	"strings"
	"testing"
)

const module = "github.com/simkafka/simkafka/"

// order is the import order: a package may import those of earlier lines of its
// own list, never a later one. Packages of one line do not import each other.
var order = [][]string{
	{"model/kafka"},
	{"model/vfs"},
	{"model/vfs/vfstest", "model/vfs/overlay"},
	{"model/quirk", "model/record"},
	{"model/config"},
	{"model/event"},
	{"model/step"},
	{"model/netclient"},
	{"model/log"},
	{"model/log/inspect"},
	{"model/election", "model/placement", "model/assignor"},
	{"model/replica"},
	{"model/group", "model/txn"},
	{"model/zookeeper"},
	{"model/zkcontroller", "model/kraft"},
	{"model/broker"},
	{"model/client"},
	{"model/outcome"},
	{"model/invariant"},
	// model ends; nothing below is imported by model, tests excepted
	{"faults"},
	{"faults/point"},
	{"scenarios"},
	{"sim/kernel/dist"},
	{"sim/kernel"},
	{"sim/simnet", "sim/simdisk"},
	{"sim/measure"},
	{"sim/cluster"},
	{"sim/sweep"},
	{"sim/shrink", "sim/diff"}, // apart from sweep: one thread and no clock; shrink takes sweep's signatures
	{"sim/explain", "sim/effects"},
	{"sim/osfs"},
	{"sim/perf"},
	{"sim/conformance"},
	{"report"},
	{"sim/simkafkatest"}, // writes what report writes
	{"cmd/simkafka"},
}

// onlyIn says which packages may import a library; prefixes of import paths.
var onlyIn = map[string][]string{
	"go.yaml.in/yaml":                         {"scenarios"},
	"github.com/olekukonko/tablewriter":       {"report"},
	"gonum.org/v1/plot":                       {"report"},
	"github.com/pingcap/failpoint":            {"faults/point"},
	"github.com/spf13/cobra":                  {"cmd/simkafka"},
	"github.com/HdrHistogram/hdrhistogram-go": {"sim/measure", "report"},
	"github.com/klauspost/compress":           {"model/record"},
	"github.com/pierrec/lz4":                  {"model/record"},
	"golang.org/x/sys":                        {"sim/osfs", "sim/perf"},
	"pgregory.net/rapid":                      nil, // tests only
	"github.com/cockroachdb/datadriven":       nil,
	"github.com/rogpeppe/go-internal":         nil,
}

func TestImportsFollowTheOrder(t *testing.T) {
	rank := make(map[string]int)
	for i, line := range order {
		for _, p := range line {
			rank[p] = i
		}
	}
	for _, f := range sources(t) {
		from, ok := rank[f.pkg]
		if !ok {
			if f.pkg != "sim/archtest" {
				t.Errorf("%s: package %s has no place in the import order", f.name, f.pkg)
			}
			continue
		}
		for _, path := range f.imports() {
			rel, ours := strings.CutPrefix(path, module)
			if !ours {
				continue
			}
			to, ok := rank[rel]
			if !ok {
				t.Errorf("%s imports %s, which has no place in the import order", f.name, rel)
			} else if to >= from {
				t.Errorf("%s imports %s, which stands at or after it in the import order", f.name, rel)
			}
		}
	}
}

func TestLibrariesStayWhereTheyBelong(t *testing.T) {
	for _, f := range sources(t) {
		for _, path := range f.imports() {
			for lib, allowed := range onlyIn {
				if !strings.HasPrefix(path, lib) {
					continue
				}
				ok := false
				for _, p := range allowed {
					ok = ok || f.pkg == p
				}
				if !ok {
					t.Errorf("%s imports %s; only %v may", f.name, path, allowed)
				}
			}
		}
	}
}
