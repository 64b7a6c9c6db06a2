package cli

import (
	"bytes"
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// heal requires either names or --all, and not both.
func TestHealWantsToKnowWhich(t *testing.T) {
	for _, args := range [][]string{{"heal"}, {"heal", "demo", "--all"}} {
		c := Command("v1")
		c.SetArgs(args)
		c.SetOut(&bytes.Buffer{})
		if err := c.ExecuteContext(t.Context()); exit.Code(err) != exit.BadUsage || !strings.Contains(err.Error(), "name clusters, or give --all") {
			t.Errorf("%q: %v", args, err)
		}
	}
}
