package point

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/pingcap/failpoint"
)

// fires passes the site n times and says which passes (from 1) fired.
func fires(r *Registry, s Site, n int) []int {
	var out []int
	for i := 1; i <= n; i++ {
		if _, ok := r.Hit(s); ok {
			out = append(out, i)
		}
	}
	return out
}

func arm(t *testing.T, term string) *Registry {
	t.Helper()
	r := &Registry{}
	if err := r.Arm(DiskSync, term); err != nil {
		t.Fatal(err)
	}
	return r
}

func TestCountsAndChainsFireOnTheHitsTheySay(t *testing.T) {
	for _, c := range []struct {
		term string
		want []int
	}{
		{"return", []int{1, 2, 3, 4, 5, 6}},
		{"return()", []int{1, 2, 3, 4, 5, 6}},
		{"2*return(true)", []int{1, 2}},
		{"2*off->1*return(true)", []int{3}},
		{`1*off->2*return("EIO")->1*off->return("lie")`, []int{2, 3, 5, 6}},
		{"3*off->return(1)", []int{4, 5, 6}},
	} {
		if got := fires(arm(t, c.term), DiskSync, 6); !slices.Equal(got, c.want) {
			t.Errorf("%s fires on %v, want %v", c.term, got, c.want)
		}
	}
}

func TestFailpointTrapOffIsInactive(t *testing.T) {
	r := arm(t, "off")
	if got := fires(r, DiskSync, 3); got != nil {
		t.Errorf("off fires on %v", got)
	}
	if c := r.Counts(); len(c) != 1 || c[0].Hits != 3 || c[0].Fired != 0 {
		t.Errorf("counts are %+v, want 3 hits and none fired", c)
	}
}

func TestFailpointTrapUnarmedSitesNeverFire(t *testing.T) {
	var none *Registry
	if got := fires(none, Boot, 2); got != nil {
		t.Errorf("a nil registry fires on %v", got)
	}
	if got := fires(&Registry{}, Boot, 2); got != nil {
		t.Errorf("an empty registry fires on %v", got)
	}
	r := arm(t, "return")
	r.Disarm(DiskSync)
	r.Disarm(DiskSync)
	r.Disarm(Boot)
	if got := fires(r, DiskSync, 2); got != nil {
		t.Errorf("a disarmed site fires on %v", got)
	}
}

func TestFailpointTrapNondeterministicTermsAreRefused(t *testing.T) {
	for term, word := range map[string]string{
		"50%return(1)":        "probability",
		"1.5%return":          "probability",
		"2*50%return":         "count",
		"sleep(20)":           "stall",
		"2*sleep(20)":         "stall",
		"pause":               "pause",
		`panic("x")`:          "kill",
		"break":               "--until",
		`print("x")`:          "--trace",
		"1*return->sleep(1)":  "stall",
		"return->return(1)":   "never reached",
		"off->return":         "never reached",
		"return(false)":       "off",
		`return("bogus")`:     "dropped",
		"0*return":            "count",
		"9999999999*return":   "count",
		"1.5*return":          "count",
		"2":                   "count",
		"2*":                  "no action",
		"":                    "no action",
		"return(1)x":          "->",
		"1*return->":          "no action",
		"return (1)":          "->",
		"retrun(1)":           "no action",
		"return(1.5)":         "integer",
		"return(007)":         "integer",
		"return(+1)":          "integer",
		"return(3000000000)":  "integer",
		"return(nil)":         "integer",
		"return(1":            "integer",
		`return("a\"b")`:      "escapes",
		`return("EIO`:         "escapes",
		"return(\"\xff\")":    "escapes",
		"return(`EIO`)":       "integer",
		"RETURN":              "no action",
		"1*1*return":          "one count",
		"return(true)->pause": "never reached",
	} {
		r := &Registry{}
		err := r.Arm(DiskSync, term)
		if err == nil || !strings.Contains(err.Error(), word) || !strings.Contains(err.Error(), "disk-sync") {
			t.Errorf("%q: error %v does not mention %q and the site", term, err, word)
		}
		if got := fires(r, DiskSync, 2); got != nil {
			t.Errorf("%q is refused and fires on %v", term, got)
		}
	}
}

// Enable registers a name whose term it refuses, and Disable then panics.
func TestFailpointTrapABadTermLeavesTheSiteUsable(t *testing.T) {
	r := arm(t, "1*off->return")
	if r.Arm(DiskSync, "retrun(1)") == nil {
		t.Fatal("a misspelt action is accepted")
	}
	if got := fires(r, DiskSync, 3); !slices.Equal(got, []int{2, 3}) {
		t.Errorf("after a refused term the old one fires on %v, want [2 3]", got)
	}
	r.Disarm(DiskSync)
	if err := r.Arm(DiskSync, "return"); err != nil {
		t.Error(err)
	}
}

func TestFailpointTrapRearmingStartsCountsAnew(t *testing.T) {
	r := arm(t, "1*return")
	fires(r, DiskSync, 3)
	if r.Armed(DiskSync) {
		t.Error("a used-up site is still armed")
	}
	for range 2 {
		if err := r.Arm(DiskSync, "1*return"); err != nil {
			t.Fatal(err)
		}
		if got := fires(r, DiskSync, 3); !slices.Equal(got, []int{1}) {
			t.Errorf("rearmed site fires on %v, want [1]", got)
		}
	}
}

func TestFailpointTrapValuesAreIntBoolAndString(t *testing.T) {
	hit := func(term string) Value {
		v, ok := arm(t, term).Hit(DiskSync)
		if !ok {
			t.Errorf("%s does not fire", term)
		}
		return v
	}
	if n, ok := hit("return(-12)").Int(); !ok || n != -12 {
		t.Errorf("return(-12) gives %d, %v", n, ok)
	}
	if n, ok := hit("return(0)").Int(); !ok || n != 0 {
		t.Errorf("return(0) gives %d, %v", n, ok)
	}
	for _, term := range []string{"return", "return()", "return(true)"} {
		if b, ok := hit(term).Bool(); !ok || !b {
			t.Errorf("%s is not true", term)
		}
	}
	if s, ok := hit(`return("lie")`).Text(); !ok || s != "lie" {
		t.Errorf("string value is %q, %v", s, ok)
	}
	for term, want := range map[string]string{"return": EIO, "return(1)": EIO, `return("dropped")`: Dropped} {
		if got := hit(term).Action(DiskSync); got != want {
			t.Errorf("%s means %q, want %q", term, got, want)
		}
	}
}

// Our parser decides; it must not accept what the failpoint package reads
// otherwise.
func TestAcceptedValuesAreReadAlikeByTheFailpointPackage(t *testing.T) {
	for _, term := range []string{"return", "return()", "return(0)", "return(-2147483648)", "return(2147483647)", "return(true)", `return("EIO")`, `return("a b%->(c")`, `return("")`} {
		c, err := parseTerm(term)
		if err != nil {
			t.Errorf("%s: %v", term, err)
			continue
		}
		var fps failpoint.Failpoints
		if err := fps.Enable("x", term); err != nil {
			t.Errorf("%s: %v", term, err)
			continue
		}
		raw, err := fps.Eval("x")
		if err != nil {
			t.Errorf("%s: %v", term, err)
		}
		v := c.links[0].value
		want := fmt.Sprint([]any{struct{}{}, v.number == 1, int(v.number), v.text}[v.kind])
		if got := fmt.Sprint(raw); got != want {
			t.Errorf("%s: failpoint gives %s, we say %s", term, got, want)
		}
	}
}

func TestFailpointTrapRegistriesArePrivate(t *testing.T) {
	r := arm(t, "return")
	if _, err := failpoint.Eval("disk-sync"); err == nil {
		t.Error("the global registry sees our site")
	}
	if got := fires(&Registry{}, DiskSync, 1); got != nil {
		t.Error("another registry sees our site")
	}
	if got := fires(r, DiskSync, 1); got == nil {
		t.Error("our own registry does not")
	}
}

func TestFailpointTrapSiteListIsOurOwn(t *testing.T) {
	all := Sites()
	if len(all) != int(numSites) || int(numSites) > 32 {
		t.Fatalf("%d sites; the armed word has 32 bits", len(all))
	}
	for _, s := range all {
		back, ok := Parse(s.String())
		if !ok || back != s || s.Description() == "" || len(s.Values()) == 0 {
			t.Errorf("site %d is incomplete: %q, %q, %q", s, s.String(), s.Description(), s.Values())
		}
		for _, v := range s.Values() {
			if err := Check(s, fmt.Sprintf("return(%q)", v)); err != nil {
				t.Error(err)
			}
		}
	}
	err := new(Registry).ArmNamed("disk-sink", "return")
	if err == nil || !strings.Contains(err.Error(), "disk-sync") {
		t.Errorf("unknown site: %v does not list the sites", err)
	}
	if new(Registry).ArmNamed("boot", "return") != nil || new(Registry).Arm(numSites, "return") == nil {
		t.Error("ArmNamed refuses a site, or Arm takes none")
	}
}

func TestFailpointTrapEnvironmentIsRefused(t *testing.T) {
	for _, name := range []string{"GO_FAILPOINTS", "GO_FAILPOINTS_HTTP"} {
		if old, ok := os.LookupEnv(name); ok {
			t.Fatalf("%s=%s is set", name, old)
		}
		if err := CheckEnv(); err != nil {
			t.Error(err)
		}
		t.Setenv(name, "x")
		if err := CheckEnv(); !errors.Is(err, ErrEnvironment) || !strings.Contains(err.Error(), name) {
			t.Errorf("%s set: %v", name, err)
		}
		os.Unsetenv(name)
	}
}

func TestResetForgetsTermsAndCounters(t *testing.T) {
	r := arm(t, "return")
	fires(r, DiskSync, 2)
	r.Reset()
	if len(r.Counts()) != 0 || fires(r, DiskSync, 1) != nil {
		t.Error("a reset registry remembers")
	}
}

func TestPassingAnUnarmedSiteAllocatesNothing(t *testing.T) {
	r := arm(t, "return")
	if n := testing.AllocsPerRun(100, func() { r.Hit(Boot) }); n != 0 {
		t.Errorf("%v allocations", n)
	}
}

func FuzzTermsNeverReachTheFailpointPackageUnread(f *testing.F) {
	for _, s := range []string{"return", "2*off->1*return(true)", `return("EIO")`, "50%return", "retrun(1)"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, term string) {
		r := &Registry{}
		if r.Arm(DiskSync, term) == nil {
			fires(r, DiskSync, 3)
		}
		r.Disarm(DiskSync)
	})
}

func BenchmarkHitUnarmed(b *testing.B) {
	r := &Registry{}
	for b.Loop() {
		r.Hit(DiskAppend)
	}
}
