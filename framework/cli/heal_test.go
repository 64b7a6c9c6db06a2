package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// heal requires names, --all or a named context, and exactly one of them. It never works on the current context.
func TestHealWantsToKnowWhich(t *testing.T) {
	const which = "name clusters of holdfast, or give --all, or name a cluster of a kubeconfig with --context"
	for _, test := range []struct {
		args []string
		want string
	}{
		{nil, which},
		{[]string{"demo", "--all"}, which},
		{[]string{"demo", "--context", "staging"}, which},
		{[]string{"--all", "--context", "staging"}, which},
		{[]string{"--kubeconfig", "/dev/null"}, "the current context may be any cluster: name it with --context"},
		{[]string{"demo", "--dry-run"}, "need --context"},
		{[]string{"--all", "--app", "x"}, "need --context"},
	} {
		c := Command("v1")
		c.SetArgs(append([]string{"heal"}, test.args...))
		c.SetOut(&bytes.Buffer{})
		if err := c.ExecuteContext(t.Context()); exit.Code(err) != exit.BadUsage || !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: %v", test.args, err)
		}
	}
}
