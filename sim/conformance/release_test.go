package conformance

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// release is a version of Kafka and how we run it.
type release struct {
	name    string // folder under testdata/golden
	version string // in the Maven repository
	kraft   bool   // else ZooKeeper
	// segmentBytes is the topic setting that takes values below 1 MiB.
	segmentBytes string
}

var releases = []release{
	{name: "kafka-3.9", version: "3.9.1", segmentBytes: "segment.bytes"},
	{name: "kafka-4.1", version: "4.1.1", kraft: true, segmentBytes: "internal.segment.bytes"},
}

const testdata = "../../testdata"

func (r release) golden() string { return filepath.Join(testdata, "golden", r.name) }

// classpath is the release's jars and the Driver's classes, "" if they were not
// installed.
func (r release) classpath(t *testing.T) string {
	t.Helper()
	target, err := filepath.Abs(filepath.Join(testdata, "conformance", "target", r.version))
	if err != nil {
		t.Fatal(err)
	}
	jars, err := os.ReadFile(filepath.Join(target, "classpath"))
	if err != nil {
		return ""
	}
	return filepath.Join(target, "classes") + ":" + strings.TrimSpace(string(jars))
}

// java is a command that runs a main class of the release, with little memory and
// without the second compiler, which such short lives do not repay.
func (r release) java(t *testing.T, heap, main string, args ...string) *exec.Cmd {
	t.Helper()
	all := append([]string{
		"-Xmx" + heap, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-Xshare:auto",
		"-Dorg.slf4j.simpleLogger.defaultLogLevel=warn", "-Dorg.slf4j.simpleLogger.showDateTime=true",
		"-cp", r.classpath(t), main,
	}, args...)
	return exec.Command("java", all...)
}

// needKafka skips a test that needs Kafka itself, unless it was asked for.
func needKafka(t *testing.T, r release) {
	t.Helper()
	if os.Getenv("SIMKAFKA_CONFORMANCE") == "" {
		t.Skip("SKIPPED: real Kafka is not asked; testdata/conformance/run does it")
	}
	if _, err := exec.LookPath("java"); err != nil {
		t.Skip("SKIPPED: there is no java on this machine")
	}
	if r.classpath(t) == "" {
		t.Fatalf("Kafka %s is not installed: testdata/conformance/run does it", r.version)
	}
}

func eachRelease(t *testing.T, do func(t *testing.T, r release)) {
	for _, r := range releases {
		t.Run(r.name, func(t *testing.T) { do(t, r) })
	}
}

func javaVersion(t *testing.T) string {
	t.Helper()
	out, err := exec.Command("java", "-version").CombinedOutput()
	if err != nil {
		t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(out), "\n")
	return line
}
