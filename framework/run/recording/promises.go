package recording

import (
	"fmt"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// promises are those that a recording is judged by: what any change of a cluster must not do to the applications on it. Whoever changes the
// cluster, and what for, does not matter.
func (o *Options) promises() []invariant.Invariant {
	if len(o.Promises) > 0 {
		return o.Promises
	}
	list, _ := o.ofRequests()
	return append(list, invariant.BudgetHonoured{}, invariant.RecoversWithin{Limit: o.Recover},
		invariant.Placement{}, invariant.SpreadWithin{Limit: o.Recover})
}

// ofRequests are the promises about requests, and notes for who reads them. A probe that is sent from both places is promised the same from each.
func (o *Options) ofRequests() (list []invariant.Invariant, notes []string) {
	if len(o.Probes) == 0 {
		return nil, nil
	}
	promised := apptest.Promises{Each: o.Promised.Each, Of: maps.Clone(o.Promised.Of)}
	for name, of := range o.Promised.Of {
		if _, has := promised.Of[name+insideSuffix]; !has && o.From == history.LoadBoth {
			promised.Of[name+insideSuffix] = of
		}
	}
	for _, class := range []apptest.Class{apptest.Voluntary, apptest.Involuntary} {
		if o.Class == class || o.Class == 0 {
			more, words := promised.Recorded(class, o.probes())
			list, notes = append(list, more...), append(notes, words...)
		}
	}
	return list, notes
}

// watchedFor are the kinds of objects that promises read, by the parts of a record that they need.
var watchedFor = map[evidence.Part]string{
	evidence.PartNodes: "nodes", evidence.PartSlices: "endpointslices", evidence.PartBudgets: "poddisruptionbudgets",
}

// judgeable leaves out the promises that cannot be judged because the user must not watch what they read, and says so, a sentence each.
func judgeable(all []invariant.Invariant, not []history.NotWatched) (kept []invariant.Invariant, left []string) {
	for _, p := range all {
		needs := p.Needs().All()
		at := slices.IndexFunc(not, func(n history.NotWatched) bool {
			return slices.ContainsFunc(needs, func(part evidence.Part) bool { return watchedFor[part] == n.What })
		})
		if at < 0 {
			kept = append(kept, p)
			continue
		}
		left = append(left, fmt.Sprintf("It is not judged whether %s: %s.", p, not[at].Why))
	}
	return kept, left
}
