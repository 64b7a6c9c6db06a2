package history

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestWarnings(t *testing.T) {
	first, second := APIWarning{Object: "PodDisruptionBudget backend", Text: "a"}, APIWarning{Object: "Pod load-0", Text: "b"}
	w, dir := create(t)
	must(t, w.Append(Event{T: 2, Warning: &second}))
	must(t, w.Append(Event{T: 1, Warning: &first}))
	must(t, w.Append(Event{T: 3, Phase: &Phase{Name: Steady}}))
	must(t, w.Close())
	run, err := Open(dir)
	must(t, err)
	if diff := cmp.Diff([]APIWarning{first, second}, run.Warnings()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}
