package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// DrainBlocked promises that a budget blocks a drain for as long as it is tried: from the moment at which the first fault
// begins to the moment at which the first undo does, each eviction of a pod under the budget is refused by it, and none
// of its pods ends.
//
// Evidence: refusals by the budget, at times when its status allowed no disruption, over a span of at least For.
type DrainBlocked struct {
	// Budget names the one that blocks; empty means the only one in the record.
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

func (p DrainBlocked) judge(f *facts) Verdict {
	d := slices.Concat(f.record(f.steady()), f.faultsBit(true))
	from, _ := f.faultsOn()
	to, undone := f.firstUndo()
	if !undone {
		to = f.end()
	}
	all := demands(f.run, func(key history.Key) bool { return p.Budget == "" || key.Name == p.Budget })
	switch {
	case len(all) == 0 && p.Budget != "":
		d.add("the record has no budget %s", p.Budget)
	case len(all) == 0:
		d.add("the record has no budget")
	case len(all) > 1:
		d.add("the record has %d budgets: name the one that is meant", len(all))
	case all[0].broken != "":
		d.add("%s cannot be judged: %s", all[0].words, all[0].broken)
	default:
		return p.verdict(blockedBy(f, all[0], from, to), d)
	}
	return Verdict{}.unknown(d)
}

func (p DrainBlocked) verdict(b blockade, d doubts) Verdict {
	v := Verdict{}
	span := b.last - b.first
	v.measure("refused", float64(b.refused))
	v.measure("refusedSeconds", span.Seconds())
	v.measure("refusedPods", float64(len(b.pods)))
	if len(b.through) > 0 {
		slices.SortFunc(b.through, func(a, b passage) int { return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.words, b.words)) })
		v.At = b.through[0].at
		for _, t := range b.through {
			v.support(t.words)
		}
		return v.violated(d, "%s, and %s was to block that", b.through[0].words, b.by.words)
	}
	d = append(d, b.other...)
	switch {
	case b.refused == 0:
		d.add("%s refused no eviction at a time when it allowed none", b.by.words)
	case span < p.For:
		d.add("%s was seen to refuse evictions for %s, and %s is the least", b.by.words, moment(span), p.For)
	}
	for _, name := range b.pods {
		v.support(fmt.Sprintf("the eviction of %s was refused: %s", name, b.messages[name]))
	}
	if len(d) > 0 {
		return v.unknown(d)
	}
	return v.held(nil, "%s refused %s of %s from %s to %s, and none of its pods ended: %s", b.by.words,
		count(b.refused, "eviction"), list(b.pods), moment(b.first), moment(b.last), b.messages[b.pods[0]])
}

// blockade is what became of the evictions of a budget's pods.
type blockade struct {
	by          *demand
	refused     int // at times when it allowed none
	first, last history.Offset
	pods        []string          // whose evictions it refused, in that order
	messages    map[string]string // what the API said of each, last
	through     []passage
	other       doubts
}

// passage is a pod that ended all the same.
type passage struct {
	at    history.Offset
	words string
}

// blockedBy looks at what the eviction API answered from from to to, and at the pods that began to end.
func blockedBy(f *facts, by *demand, from, to history.Offset) blockade {
	b := blockade{by: by, messages: make(map[string]string)}
	under := make(map[history.Key]bool)
	for _, life := range followPods(f.run) {
		if life.Namespace == by.key.Namespace && history.Selects(by.selector, life.Labels) {
			under[history.Key{Namespace: life.Namespace, Name: life.Name}] = true
		}
	}
	evicted := make(map[string]bool)
	for _, e := range answers(f.run, from, to) {
		switch a := e.answer; {
		case !under[history.Key{Namespace: a.Namespace, Name: a.Pod}]:
		case a.Accepted:
			evicted[a.Pod] = true
			b.through = append(b.through, passage{e.at, fmt.Sprintf("the eviction of %s was accepted at %s", a.Pod, moment(e.at))})
		case a.Lost != "":
			b.other.add("whether the eviction of %s was accepted by %s is not known: %s", a.Pod, moment(e.at), a.Lost)
		case a.Budget != by.key.Name:
			b.other.add("the eviction of %s was refused at %s, and not by %s: %s", a.Pod, moment(e.at), by.words, a.Message)
		case by.blocked(e.at-watchSkew, e.at+watchSkew):
			b.refuse(e.at, a)
		}
	}
	for _, end := range f.run.Terminations(from, to) {
		key := history.Key{Namespace: end.Namespace, Name: end.Name}
		if under[key] && !evicted[end.Name] && !f.blind(end.Began()) {
			b.through = append(b.through, passage{end.Began(), fmt.Sprintf("%s began to end at %s", end.Name, moment(end.Began()))})
		}
	}
	return b
}

// answers are what the eviction API said at or after from and before to, in that order; what it said at one moment, in the
// order of the pods' names.
func answers(run history.Run, from, to history.Offset) (all []asked) {
	for _, e := range run.Events {
		if e.Eviction != nil && e.T >= from && e.T < to {
			all = append(all, asked{at: e.T, answer: *e.Eviction})
		}
	}
	slices.SortStableFunc(all, func(a, b asked) int {
		return cmp.Or(cmp.Compare(a.at, b.at), cmp.Compare(a.answer.Namespace, b.answer.Namespace), cmp.Compare(a.answer.Pod, b.answer.Pod))
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
