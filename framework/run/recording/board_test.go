package recording

import (
	"slices"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// A recording goes on until the pods that were told to end have ended: until then, requests meet what was done. It waits for no pod that was ending when it
// began, and for none that no kubelet can end.
func TestPodsThatAreEndingAreNotSettled(t *testing.T) {
	pod := func(change history.Change, edit func(*history.Pod)) history.Event {
		p := &history.Pod{Change: change, Namespace: "shop", Name: "web-1", UID: "u1", Node: "w1", Phase: "Running"}
		edit(p)
		return history.Event{Pod: p}
	}
	node := func(ready string) history.Event {
		return history.Event{Node: &history.Node{Change: history.Modified, Name: "w1", Ready: ready}}
	}
	deleting := func(p *history.Pod) { p.Deleting = true }
	ended := func(p *history.Pod) { p.Deleting, p.Phase = true, "Succeeded" }
	for name, test := range map[string]struct {
		events []history.Event
		waits  bool
	}{
		"it runs":                    {[]history.Event{pod(history.Added, func(*history.Pod) {})}, false},
		"it is ending":               {[]history.Event{pod(history.Added, func(*history.Pod) {}), pod(history.Modified, deleting)}, true},
		"it is ending, on a node":    {[]history.Event{node("True"), pod(history.Modified, deleting)}, true},
		"it is gone":                 {[]history.Event{pod(history.Modified, deleting), pod(history.Deleted, deleting)}, false},
		"it has ended, and is there": {[]history.Event{pod(history.Modified, deleting), pod(history.Modified, ended)}, false},
		"it was ending before":       {[]history.Event{pod(history.Listed, deleting)}, false},
		"it is ending, listed again": {[]history.Event{pod(history.Modified, deleting), pod(history.Listed, deleting)}, true},
		"its node is lost":           {[]history.Event{node("True"), pod(history.Modified, deleting), node("Unknown")}, false},
		"its node is back":           {[]history.Event{node("Unknown"), pod(history.Modified, deleting), node("True")}, true},
	} {
		b := newBoard(nil)
		for _, e := range test.events {
			b.note(e)
		}
		if left := b.unsettled(); (len(left) > 0) != test.waits || test.waits && !slices.Equal(left, []string{"pod shop/web-1 (ending)"}) {
			t.Errorf("%s: %v", name, left)
		}
	}
}
