package kind

import (
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
)

func TestNodeState(t *testing.T) {
	for word, want := range map[string]clusters.NodeState{
		"running": clusters.Running, "stopping": clusters.Running, "paused": clusters.Paused,
		"exited": clusters.Exited, "created": clusters.Exited, "dead": clusters.Exited,
	} {
		if got, err := nodeState(word); err != nil || got != want {
			t.Errorf("%s: %s, %v, want %s", word, got, err, want)
		}
	}
	if _, err := nodeState("Up 3 minutes"); err == nil {
		t.Error("a word that no engine uses was taken for a state")
	}
}
