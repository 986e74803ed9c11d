package scenarios

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// A generated world prints as YAML and loads again equal; equal seeds draw equal
// worlds, and the seed matters.
func TestGeneratedWorldsAreOrdinaryScenarios(t *testing.T) {
	for _, g := range Generators {
		seen := make(map[string]bool)
		for seed := range uint64(20) {
			s, err := g.Draw(seed)
			if err != nil {
				t.Fatalf("%s seed %d: %v", g.Name, seed, err)
			}
			text := s.YAML()
			again, err := Load("again.yaml", []byte(text), nil)
			if err != nil {
				t.Fatalf("%s seed %d: %v\n%s", g.Name, seed, err, text)
			}
			if again.YAML() != text {
				t.Fatalf("%s seed %d prints and loads as another scenario\n%s\n%s", g.Name, seed, text, again.YAML())
			}
			if twice, _ := g.Draw(seed); twice.YAML() != text {
				t.Fatalf("%s seed %d drew two worlds", g.Name, seed)
			}
			_, body, _ := strings.Cut(text, "\nprotocol:")
			seen[body] = true
		}
		if len(seen) < 20 {
			t.Errorf("%s: 20 seeds drew %d different worlds", g.Name, len(seen))
		}
	}
}

// chosen lets rapid choose.
type chosen struct{ t *rapid.T }

func (c chosen) Int(name string, lo, hi int64) int64 {
	return rapid.Int64Range(lo, hi).Draw(c.t, name)
}

// Whatever is chosen, the grammar makes a scenario that loads.
func TestEveryChoiceOfTheGrammarLoads(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		name := rapid.SampledFrom(GeneratorNames()).Draw(t, "generator")
		if s, err := DrawWorld(name, chosen{t}); err != nil {
			t.Fatal(err)
		} else if len(s.Events) == 0 {
			t.Fatal("a world without faults")
		}
	})
}

// Within the budget, what may lose unsynced data is at most min.insync.replicas - 1
// brokers, elections are clean and the verdict counts every invariant.
func TestGeneratedWorldsStayWithinTheirBudget(t *testing.T) {
	lossy := 0
	for _, g := range Generators {
		beyond := strings.HasSuffix(g.Name, "-beyond")
		for seed := range uint64(60) {
			s, err := g.Draw(seed)
			if err != nil {
				t.Fatal(err)
			}
			if s.Expect.BeyondBudget != beyond {
				t.Fatalf("%s seed %d: beyond budget is %v", g.Name, seed, s.Expect.BeyondBudget)
			}
			if beyond {
				continue
			}
			var minISR int
			flushed := false
			for _, c := range s.Cluster.Config {
				switch c.Key {
				case "min.insync.replicas":
					minISR = int(c.Value[0] - '0')
				case "unclean.leader.election.enable":
					if c.Value != "false" {
						t.Errorf("%s seed %d allows unclean elections", g.Name, seed)
					}
				case "log.flush.interval.messages":
					flushed = c.Value == "1"
				}
			}
			losers := make(map[string]bool)
			for i := range s.Events {
				text := s.Events[i].Fault.String()
				if strings.Contains(text, "power_loss") || strings.Contains(text, "drop_dirty") {
					losers[s.Events[i].Fault.Selectors()[0].String()] = true
					lossy++
				}
			}
			if !flushed && len(losers) >= minISR {
				t.Errorf("%s seed %d: %d brokers may lose data, min.insync.replicas is %d", g.Name, seed, len(losers), minISR)
			}
		}
	}
	if lossy == 0 {
		t.Error("no world loses anything: the check saw nothing")
	}
}
