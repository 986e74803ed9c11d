package scenarios

import (
	"strings"
	"testing"
)

// Who creates a topic that is certainly there is warned, and nobody else.
func TestCreationBeforeTheFirstDeletionIsAWarning(t *testing.T) {
	const create = "  - {at: 10s, create_topic: orders}\n"
	for _, c := range []struct{ name, deletion, warning string }{
		{"never", "", "no event deletes it"},
		{"later", "  - {at: 12s, delete_topic: orders}\n", "exists until it is deleted at 12s: the administrator, who begins at 10s,"},
		{"later, again and again", "  - {every: 3s, from: 15s, delete_topic: orders}\n", "deleted at 15s"},
		{"at the same time", "  - {at: 10s, delete_topic: orders}\n", ""},
		{"before and later", "  - {at: 5s, delete_topic: orders}\n  - {at: 20s, delete_topic: orders}\n", ""},
		{"at an unknown time", "  - {when: {event: leader-elected}, delete_topic: orders}\n", ""},
	} {
		s := mustLoad(t, strings.Replace(good, "events:\n", "events:\n"+create+c.deletion, 1))
		switch got := strings.Join(s.Warnings, "\n"); {
		case c.warning == "" && got != "":
			t.Errorf("%s: %s", c.name, got)
		case !strings.Contains(got, c.warning) || c.warning != "" && !strings.Contains(got, "x.yaml:18:29: "):
			t.Errorf("%s: want %q at x.yaml:18:29, got %q", c.name, c.warning, got)
		}
	}
}
