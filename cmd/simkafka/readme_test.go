package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/simkafka/simkafka/faults"
	"github.com/simkafka/simkafka/scenarios"
)

// README.md is checked as a reader would use it: its scenarios are files, its
// commands run in a folder that holds them, its tables are the code's. The marks
// are comments before a fenced block, or around what is generated:
//
//	<!-- file: NAME -->             the block is a file of this name
//	<!-- events -->, <!-- chaos --> the block is that part of a scenario
//	<!-- generated: WHAT --> … <!-- end -->
//
// WHAT is a word of generators (readme_tables_test.go), or "output: ARGS" for what
// simkafka prints, or "output (BEGIN): ARGS" for the paragraphs of it from the line
// BEGIN to the next heading, "output (to BEGIN): ARGS" for what comes before that line.

var updateReadme = flag.Bool("update-readme", false, "write the generated parts of README.md anew")

const readmePath = "../../README.md"

func readme(t *testing.T) string {
	t.Helper()
	text, err := os.ReadFile(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// block is a fenced block with the mark before it, "" if there is none.
type block struct{ mark, lang, text string }

var fence = regexp.MustCompile("(?ms)^(?:<!-- ([^\n]*) -->\n)?```([a-z]*)\n(.*?)^```$")

func blocks(text string) []block {
	var out []block
	for _, m := range fence.FindAllStringSubmatch(text, -1) {
		out = append(out, block{m[1], m[2], m[3]})
	}
	return out
}

// simkafka runs the command in-process.
func simkafka(args []string) (code int, stdout, stderr string) {
	var out, errs bytes.Buffer
	code = run(args, strings.NewReader(""), &out, &errs)
	return code, out.String(), errs.String()
}

// folder makes README's files in a new folder and goes there.
func folder(t *testing.T, text string) {
	t.Helper()
	dir := t.TempDir()
	for _, b := range blocks(text) {
		if name, ok := strings.CutPrefix(b.mark, "file: "); ok {
			if err := os.WriteFile(filepath.Join(dir, name), []byte(b.text), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	t.Chdir(dir)
	t.Setenv("NO_COLOR", "1")
}

// command is one line of a sh block.
type command struct {
	args []string
	to   string // redirection
	code int
}

var exits = regexp.MustCompile(`# exits (\d+)`)

// parseCommand reads a line for simkafka; ok is false for other programs.
func parseCommand(line string) (c command, ok bool) {
	if m := exits.FindStringSubmatch(line); m != nil {
		c.code, _ = strconv.Atoi(m[1])
	}
	line, _, _ = strings.Cut(line, " #")
	line, c.to, _ = strings.Cut(line, " > ")
	c.to = strings.TrimSpace(c.to)
	words := strings.Fields(line)
	switch {
	case len(words) > 0 && words[0] == "simkafka":
		c.args = words[1:]
	case len(words) > 2 && words[0] == "go" && words[1] == "run" && words[2] == "./cmd/simkafka":
		c.args = words[3:]
	default:
		return command{}, false
	}
	return c, true
}

func TestReadmeCommandsRun(t *testing.T) {
	text := readme(t)
	root, err := filepath.Abs("../..")
	if err != nil {
		t.Fatal(err)
	}
	folder(t, text)
	ran := 0
	for _, b := range blocks(text) {
		if b.lang != "sh" {
			continue
		}
		for line := range strings.Lines(b.text) {
			line = strings.TrimSpace(line)
			c, ours := parseCommand(line)
			if !ours {
				checkGoCommand(t, root, line)
				continue
			}
			ran++
			if c.args[0] == "perf" {
				// It measures a disk for minutes, with a reader that is a process of its
				// own: the script of the verb runs it small. Here its words must be right.
				c.args = append(c.args, "--help")
			}
			code, stdout, stderr := simkafka(c.args)
			if code != c.code {
				t.Errorf("%s\nexits %d, README says %d\n%s%s", line, code, c.code, stdout, stderr)
			}
			if c.to != "" {
				if err := os.WriteFile(c.to, []byte(stdout), 0o644); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if ran < 5 {
		t.Errorf("only %d commands found", ran)
	}
}

var (
	testRun = regexp.MustCompile(`-run (Test\w+)`)
	folders = regexp.MustCompile(`\./[\w./]*\w`)
)

// checkGoCommand looks at a line of README that this test cannot run, as it would
// run itself: what it names must be there.
func checkGoCommand(t *testing.T, root, line string) {
	t.Helper()
	if !strings.HasPrefix(line, "go test ") {
		t.Errorf("%q: the test does not know this command", line)
		return
	}
	for _, dir := range folders.FindAllString(line, -1) {
		files, err := filepath.Glob(filepath.Join(root, dir, "*_test.go"))
		if err != nil || len(files) == 0 {
			t.Errorf("%s: no tests in %s", line, dir)
		}
		var all strings.Builder
		for _, f := range files {
			text, err := os.ReadFile(f)
			if err != nil {
				t.Fatal(err)
			}
			all.Write(text)
		}
		if m := testRun.FindStringSubmatch(line); m != nil && !strings.Contains(all.String(), "func "+m[1]) {
			t.Errorf("%s: no test begins with %s", line, m[1])
		}
		if strings.Contains(line, "-bench") && !strings.Contains(all.String(), "func Benchmark") {
			t.Errorf("%s: no benchmark in %s", line, dir)
		}
	}
}

// frame is a scenario that fragments of README fit in.
const frame = `apiVersion: simkafka/v1
name: fragment
duration: 60s
cluster: {brokers: 3}
topics:
  - {name: orders, partitions: 3, replication: 3}
producers:
  - {name: p, topic: orders}
consumers:
  - {name: c, topics: [orders]}
`

func loads(t *testing.T, what, text string) {
	t.Helper()
	s, err := scenarios.Load(what, []byte(text), nil)
	if err != nil {
		t.Errorf("%v", err)
		return
	}
	if len(s.Events) == 0 && s.Chaos == nil {
		t.Errorf("%s: no faults in it", what)
	}
}

// Every scenario text of README is one that simkafka takes.
func TestReadmeFragmentsAreScenarios(t *testing.T) {
	for _, b := range blocks(readme(t)) {
		if b.lang != "yaml" {
			continue
		}
		switch b.mark {
		case "events", "chaos":
			loads(t, b.mark, frame+b.mark+":\n  "+strings.ReplaceAll(strings.TrimRight(b.text, "\n"), "\n", "\n  ")+"\n")
		case "hardware":
			if _, problems := scenarios.LoadHardware("README.md", []byte(b.text)); len(problems) > 0 {
				t.Errorf("%v", problems)
			}
		default:
			if !strings.HasPrefix(b.mark, "file: ") {
				t.Errorf("a yaml block without a mark:\n%s", b.text)
			}
		}
	}
}

// What help and README show for each fault can be copied into a scenario.
func TestFaultExamplesAreEvents(t *testing.T) {
	for _, k := range faults.Table {
		loads(t, k.Word, frame+"events:\n  - "+k.Example+"\n")
	}
}

var generated = regexp.MustCompile(`(?ms)^<!-- generated: ([^\n]*) -->\n.*?^<!-- end -->$`)

var (
	outputMark = regexp.MustCompile(`^output(?: \((to )?([^)]*)\))?: (.*)$`)
	link       = regexp.MustCompile(`\]\(([^)]*)\)`)
)

// A part between marks is what the code says.
func TestReadmeIsWhatTheCodeSays(t *testing.T) {
	text := readme(t)
	abs, err := filepath.Abs(readmePath)
	if err != nil {
		t.Fatal(err)
	}
	folder(t, text)
	seen := make(map[string]bool)
	want := generated.ReplaceAllStringFunc(text, func(part string) string {
		what := generated.FindStringSubmatch(part)[1]
		seen[what] = true
		return fmt.Sprintf("<!-- generated: %s -->\n%s\n<!-- end -->", what, strings.TrimRight(generate(t, what), "\n"))
	})
	for name := range generators {
		if !seen[name] {
			t.Errorf("README has no part %q", name)
		}
	}
	if *updateReadme {
		if err := os.WriteFile(abs, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	if text != want {
		t.Errorf("README.md is out of date (-update-readme writes it anew); it first differs at\n%s", firstDifference(text, want))
	}
}

func firstDifference(a, b string) string {
	x, y := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(x), len(y)) {
		if x[i] != y[i] {
			return fmt.Sprintf("line %d\n  is     %s\n  should be %s", i+1, x[i], y[i])
		}
	}
	return "its end"
}

func generate(t *testing.T, what string) string {
	t.Helper()
	if g := generators[what]; g != nil {
		return g()
	}
	m := outputMark.FindStringSubmatch(what)
	if m == nil {
		t.Errorf("README wants to have %q generated; the test does not know it", what)
		return ""
	}
	_, stdout, stderr := simkafka(strings.Fields(m[3]))
	lines := strings.Split(strings.TrimRight(stderr+stdout, "\n"), "\n")
	if m[2] != "" {
		from := slices.Index(lines, m[2])
		if from < 0 {
			t.Errorf("%s: there is no line %q", what, m[2])
			return ""
		}
		if m[1] != "" {
			lines = lines[:from]
		} else {
			lines = section(lines[from:])
		}
	}
	return "```text\n" + strings.TrimRight(strings.Join(lines, "\n"), "\n") + "\n```"
}

// section ends before the next line that is neither empty nor indented.
func section(lines []string) []string {
	for i, l := range lines[1:] {
		if l != "" && l[0] != ' ' {
			return lines[:i+1]
		}
	}
	return lines
}

// A link inside README leads to a heading or a file of the repository.
func TestReadmeLinksLeadSomewhere(t *testing.T) {
	text := readme(t)
	anchors := make(map[string]bool)
	for line := range strings.Lines(text) {
		if h := strings.TrimLeft(line, "#"); h != line && strings.HasPrefix(h, " ") {
			anchors["#"+strings.ReplaceAll(strings.ToLower(strings.TrimSpace(h)), " ", "-")] = true
		}
	}
	for _, m := range link.FindAllStringSubmatch(text, -1) {
		switch to := m[1]; {
		case strings.HasPrefix(to, "https://"):
		case strings.HasPrefix(to, "#"):
			if !anchors[strings.ReplaceAll(to, ",", "")] {
				t.Errorf("no heading %s", to)
			}
		default:
			if _, err := os.Stat(filepath.Join("../..", to)); err != nil {
				t.Error(err)
			}
		}
	}
}
