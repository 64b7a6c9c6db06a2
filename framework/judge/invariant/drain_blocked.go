package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/budget"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// DrainBlocked promises that a budget blocks a drain: from the start of the first fault to the start of the first revert, the
// budget refuses each eviction of its pods, and none of its pods ends.
//
// Evidence: refusals by the budget while its status allowed no disruption, over a span of at least For.
type DrainBlocked struct {
	// Budget is the name of the budget that blocks; empty means the only one in the record.
	Budget string        `json:"budget,omitempty"`
	For    time.Duration `json:"for,omitempty"`
}

func (p DrainBlocked) String() string {
	who := "the budget"
	if p.Budget != "" {
		who = "budget " + p.Budget
	}
	text := who + " refuses each eviction of its pods while the faults are in force, and none of them ends"
	if p.For > 0 {
		text += fmt.Sprintf("; it does so for at least %s", p.For)
	}
	return text
}

// Needs implements Invariant.
func (p DrainBlocked) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Parts: []evidence.Part{evidence.PartBudgets, evidence.PartEvictions}}
}

// Judge implements EventInvariant.
func (p DrainBlocked) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	from, _ := f.FaultsOn()
	to, undone := f.FirstRevert()
	if !undone {
		to = f.End()
	}
	all := budget.Demands(f.Record, func(key history.Key) bool { return p.Budget == "" || key.Name == p.Budget })
	switch {
	case len(all) == 0 && p.Budget != "":
		missing.Add("the record has no budget %s", p.Budget)
	case len(all) == 0:
		missing.Add("the record has no budget")
	case len(all) > 1:
		missing.Add("the record has %d budgets; the promise must name one", len(all))
	case all[0].Broken != "":
		missing.Add("%s cannot be judged: %s", all[0].Words, all[0].Broken)
	default:
		return p.verdict(blockedBy(f, all[0], from, to), missing)
	}
	return verdict.Verdict{}.Unknown(missing)
}

func (p DrainBlocked) verdict(b blockade, missing verdict.Missing) verdict.Verdict {
	v := verdict.Verdict{}
	span := b.last - b.first
	v.Measure("refused", float64(b.refused))
	v.Measure("refusedSeconds", span.Seconds())
	v.Measure("refusedPods", float64(len(b.pods)))
	if len(b.through) > 0 {
		slices.SortFunc(b.through, func(a, b passage) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.words, b.words)) })
		v.At = b.through[0].at
		for _, t := range b.through {
			v.Support(t.words)
		}
		return v.Violated(missing, "%s, but %s must block it", b.through[0].words, b.by.Words)
	}
	missing = append(missing, b.other...)
	switch {
	case b.refused == 0:
		missing.Add("%s refused no eviction while it allowed no disruption", b.by.Words)
	case span < p.For:
		missing.Add("%s refused evictions for %s, and at least %s is promised", b.by.Words, prose.Moment(span), p.For)
	}
	for _, name := range b.pods {
		v.Support(fmt.Sprintf("the eviction of %s was refused: %s", name, b.messages[name]))
	}
	if len(missing) > 0 {
		return v.Unknown(missing)
	}
	return v.Held(nil, "%s refused %s of %s from %s to %s, and none of its pods ended: %s", b.by.Words,
		prose.Count(b.refused, "eviction"), prose.List(b.pods), prose.Moment(b.first), prose.Moment(b.last), b.messages[b.pods[0]])
}

// blockade is what happened to a budget's pods.
type blockade struct {
	by          *budget.Demand
	refused     int // refused while the status allowed no disruption
	first, last history.Offset
	pods        []string          // pods whose evictions it refused, in that order
	messages    map[string]string // the API server's last message about each
	through     []passage
	other       verdict.Missing
}

// passage is a pod that ended nevertheless.
type passage struct {
	at    history.Offset
	words string
}

// blockedBy looks at the answers of the eviction API from from to to, and at the pods that began to terminate.
func blockedBy(f *evidence.Run, by *budget.Demand, from, to history.Offset) blockade {
	b := blockade{by: by, messages: make(map[string]string)}
	under := make(map[history.Key]bool)
	for _, pod := range f.Timeline().Pods {
		if pod.Namespace == by.Key.Namespace && history.Selects(by.Selector, pod.Labels) {
			under[history.Key{Namespace: pod.Namespace, Name: pod.Name}] = true
		}
	}
	evicted := make(map[string]bool)
	for _, e := range answers(f.Record, from, to) {
		switch a := e.Answer; {
		case !under[history.Key{Namespace: a.Namespace, Name: a.Pod}]:
		case a.Accepted:
			evicted[a.Pod] = true
			b.through = append(b.through, passage{e.At, fmt.Sprintf("the eviction of %s was accepted at %s", a.Pod, prose.Moment(e.At))})
		case a.Lost != "":
			b.other.Add("the answer to the eviction of %s at %s was lost: %s", a.Pod, prose.Moment(e.At), a.Lost)
		case a.Budget != by.Key.Name:
			b.other.Add("the eviction of %s was refused at %s, but not by %s: %s", a.Pod, prose.Moment(e.At), by.Words, a.Message)
		case by.Blocked(e.At-evidence.WatchSkew, e.At+evidence.WatchSkew):
			b.refuse(e.At, a)
		}
	}
	for _, end := range f.Timeline().Terminations(from, to) {
		key := history.Key{Namespace: end.Namespace, Name: end.Name}
		if under[key] && !evicted[end.Name] && !f.Blind(end.EndBegan()) {
			b.through = append(b.through, passage{end.EndBegan(), fmt.Sprintf("%s began to end at %s", end.Name, prose.Moment(end.EndBegan()))})
		}
	}
	return b
}

// answers are those of the eviction API from from (inclusive) to to (exclusive), by time and then by the pods' names.
func answers(run history.Run, from, to history.Offset) (all []budget.Asked) {
	for _, e := range run.Events {
		if e.Eviction != nil && e.T >= from && e.T < to {
			all = append(all, budget.Asked{At: e.T, Answer: *e.Eviction})
		}
	}
	slices.SortStableFunc(all, func(a, b budget.Asked) int {
		return cmp.Or(cmp.Compare(a.At, b.At), cmp.Compare(a.Answer.Namespace, b.Answer.Namespace), cmp.Compare(a.Answer.Pod, b.Answer.Pod))
	})
	return all
}

func (b *blockade) refuse(at history.Offset, a history.Eviction) {
	if b.refused == 0 {
		b.first = at
	}
	b.refused++
	b.last = at
	if !slices.Contains(b.pods, a.Pod) {
		b.pods = append(b.pods, a.Pod)
	}
	b.messages[a.Pod] = cmp.Or(a.Message, "the API did not say why")
}
