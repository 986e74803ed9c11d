package report

import (
	"encoding/xml"
	"fmt"
	"io"
	"strings"

	"github.com/simkafka/simkafka/model/outcome"
	"github.com/simkafka/simkafka/sim/sweep"
)

// The JUnit dialect is the strictest in use: what the schemas of Ant's JUnit task and
// of Jenkins ask for, in their order. Times are 0 and the time stamp is a constant,
// as equal sweeps give equal files.
type (
	junitSuites struct {
		XMLName xml.Name `xml:"testsuites"`
		Suite   junitSuite
	}
	junitSuite struct {
		XMLName    xml.Name        `xml:"testsuite"`
		Package    string          `xml:"package,attr"`
		ID         int             `xml:"id,attr"`
		Name       string          `xml:"name,attr"`
		Timestamp  string          `xml:"timestamp,attr"`
		Hostname   string          `xml:"hostname,attr"`
		Tests      int             `xml:"tests,attr"`
		Failures   int             `xml:"failures,attr"`
		Errors     int             `xml:"errors,attr"`
		Time       string          `xml:"time,attr"`
		Properties []junitProperty `xml:"properties>property"`
		Cases      []junitCase
		Out        string `xml:"system-out"`
		Err        string `xml:"system-err"`
	}
	junitProperty struct {
		Name  string `xml:"name,attr"`
		Value string `xml:"value,attr"`
	}
	junitCase struct {
		XMLName xml.Name      `xml:"testcase"`
		Name    string        `xml:"name,attr"`
		Class   string        `xml:"classname,attr"`
		Time    string        `xml:"time,attr"`
		Failure *junitProblem `xml:"failure"`
		Error   *junitProblem `xml:"error"`
	}
	junitProblem struct {
		Message string `xml:"message,attr"`
		Type    string `xml:"type,attr"`
		Body    string `xml:",cdata"`
	}
)

// maxCases bounds the failing seeds that are listed; the summary counts all.
const maxCases = 1000

// WriteJUnit prints a sweep as JUnit XML: a case that stands for all its seeds, and
// one for each seed that did not pass. Some readers show the body of a failure alone,
// hence it has seed and command.
func WriteJUnit(w io.Writer, m *sweep.Merged) error {
	h := &m.Header
	s := junitSuite{Package: "simkafka.sweep", Name: junitText(h.Name), Timestamp: "1970-01-01T00:00:00", Hostname: "localhost", Time: "0"}
	for _, x := range [][2]string{{"sweep_id", h.ID}, {"root_seed", fmt.Sprint(h.Root)}, {"engine", fmt.Sprint(h.Engine)}, {"source_sha256", h.Source}} {
		s.Properties = append(s.Properties, junitProperty{x[0], x[1]})
	}
	s.add(summaryCase(m))
	for i := range m.Lines {
		if l := &m.Lines[i]; l.Verdict != outcome.Pass && len(s.Cases) <= maxCases {
			s.add(seedCase(h, l))
		}
	}
	b, err := xml.MarshalIndent(junitSuites{Suite: s}, "", "  ")
	if err != nil {
		return err
	}
	return put(w, xml.Header+string(b)+"\n")
}

func (s *junitSuite) add(c junitCase) {
	c.Class, c.Time = s.Package+"."+s.Name, "0"
	s.Tests++
	if c.Failure != nil {
		s.Failures++
	}
	if c.Error != nil {
		s.Errors++
	}
	s.Cases = append(s.Cases, c)
}

// summaryCase stands for all seeds. It fails with them, and has the whole report.
func summaryCase(m *sweep.Merged) junitCase {
	t := m.Totals()
	c := junitCase{Name: "all seeds"}
	verdict := SweepVerdict(m)
	if verdict == outcome.Pass {
		return c
	}
	var b strings.Builder
	_ = WriteSweep(&b, m, SweepOptions{Style: Style{Width: 100}}) // a Builder takes everything
	p := &junitProblem{Type: string(verdict), Body: junitText("\n" + b.String()),
		Message: fmt.Sprintf("of %s %s violated, %s inconclusive, %s in error", plural(int64(t.Runs), "seed"), count(int64(t.Violated)),
			count(int64(t.Inconclusive)), count(int64(t.Errors)))}
	c.set(verdict, p)
	return c
}

func seedCase(h *sweep.Header, l *sweep.Line) junitCase {
	c := junitCase{Name: fmt.Sprintf("seed %d (k %d)", l.Seed, l.K)}
	kind, _, _ := strings.Cut(l.Signature, ":")
	body := fmt.Sprintf("\nscenario   %s\nseed       %d\nsignature  %s\nwhat       %s\nfaults     %s\nreplay     %s\n",
		h.Name, l.Seed, l.Signature, l.What, orNone(l.Faults), SweepReplay(h, l.Seed))
	c.set(l.Verdict, &junitProblem{Type: junitText(kind), Message: junitText(l.What), Body: junitText(body)})
	return c
}

// set makes a violation a failure and everything else an error.
func (c *junitCase) set(v outcome.Verdict, p *junitProblem) {
	if v == outcome.Violated {
		c.Failure = p
	} else {
		c.Error = p
	}
}

// junitText drops what XML 1.0 cannot hold.
func junitText(s string) string {
	return strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t' || r >= ' ' && r != 0xFFFE && r != 0xFFFF && r != 0x7F:
			return r
		}
		return -1
	}, strings.ToValidUTF8(s, "?"))
}
