package simkafkatest

import (
	"encoding/json"
	"os"
	"path/filepath"
)

// manifestFile says what a directory of artifacts is about: its own name is a number.
const manifestFile = "manifest.json"

func (r *run) writeManifest() error {
	b, err := json.MarshalIndent(struct {
		Failures []kept `json:"failures"`
		Scenario string `json:"scenario"`
		Test     string `json:"test"`
	}{r.manifest, r.source.Name(), r.t.Name()}, "", "  ")
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(r.t.ArtifactDir(), manifestFile), append(b, '\n'), 0o666)
}
