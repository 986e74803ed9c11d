package main

import (
	"encoding/json"
	"errors"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/rogpeppe/go-internal/testscript"
)

func TestMain(m *testing.M) {
	testscript.Main(m, map[string]func(){"simkafka": main})
}

// TestScripts runs testdata/script. Beside the usual commands there are
//
//	code N simkafka ARGS…   runs it and demands exit code N
//	jsondoc FILE            demands exactly one JSON document in a file, or in stdout
//
// GOLDEN is where the directories of real brokers are.
func TestScripts(t *testing.T) {
	testscript.Run(t, testscript.Params{
		Dir: "testdata/script",
		Setup: func(env *testscript.Env) error {
			golden, err := filepath.Abs("../../testdata/golden")
			if err != nil {
				return err
			}
			env.Setenv("GOLDEN", golden)
			env.Setenv("NO_COLOR", "")
			env.Setenv("CLICOLOR_FORCE", "")
			return nil
		},
		Cmds: map[string]func(*testscript.TestScript, bool, []string){"code": codeCmd, "jsondoc": jsonCmd},
	})
}

func codeCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) < 2 {
		ts.Fatalf("usage: code N program args...")
	}
	want, err := strconv.Atoi(args[0])
	ts.Check(err)
	got := 0
	if err := ts.Exec(args[1], args[2:]...); err != nil {
		var exit *exec.ExitError
		if !errors.As(err, &exit) {
			ts.Fatalf("%v", err)
		}
		got = exit.ExitCode()
	}
	if got != want {
		ts.Fatalf("%s: exit code %d, want %d", strings.Join(args[1:], " "), got, want)
	}
}

func jsonCmd(ts *testscript.TestScript, neg bool, args []string) {
	if neg || len(args) != 1 {
		ts.Fatalf("usage: jsondoc FILE")
	}
	if !json.Valid([]byte(ts.ReadFile(args[0]))) {
		ts.Fatalf("%s is not one JSON document", args[0])
	}
}
