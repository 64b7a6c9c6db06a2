package historytest

import (
	"cmp"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// serverList is the ready pods over time, oldest first.
type serverList []struct {
	since history.Offset
	ready []history.Pod
}

func (b *Builder) servers() serverList {
	events := slices.Clone(b.events)
	slices.SortStableFunc(events, func(x, y history.Event) int { return cmp.Compare(x.T, y.T) })
	var list serverList
	pods := make(map[string]history.Pod)
	for _, e := range events {
		if e.Pod == nil {
			continue
		}
		if e.Pod.Change == history.Deleted {
			delete(pods, e.Pod.UID)
		} else {
			pods[e.Pod.UID] = *e.Pod
		}
		var ready []history.Pod
		for _, uid := range slices.Sorted(maps.Keys(pods)) {
			if p := pods[uid]; p.Ready && !p.Deleting {
				ready = append(ready, p)
			}
		}
		list = append(list, struct {
			since history.Offset
			ready []history.Pod
		}{e.T, ready})
	}
	return list
}

func (l serverList) at(t history.Offset) []history.Pod {
	for i := len(l) - 1; i >= 0; i-- {
		if l[i].since <= t {
			return l[i].ready
		}
	}
	return nil
}
