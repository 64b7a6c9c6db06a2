package scenario

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// TestLoadNamespaces: each namespace has another one for its load, also where its name leaves no room.
func TestLoadNamespaces(t *testing.T) {
	long := strings.Repeat("a", 62)
	seen := map[string]bool{}
	for namespace, want := range map[string]string{"shop": "hf-load-shop", "hf-shop": "hf-load-shop", long + "b": "", long + "c": ""} {
		got := Spec{App: &app.App{Namespace: namespace}}.LoadNamespace()
		if want != "" && got != want || len(got) > maxNamespace || want == "" && seen[got] {
			t.Errorf("of %s: %s, want %s", namespace, got, want)
		}
		seen[got] = true
	}
	if got := (Spec{Name: "chaos/drain"}).LoadNamespace(); got != "hf-load-chaos-drain" {
		t.Errorf("of a scenario of holdfast: %s", got)
	}
}
