package invariant_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// damage is one piece of damage, of the kind that a promise excludes.
type damage struct {
	kinds []string // of the promises that exclude it
	// do says what it did, and about which moment; empty: there is no place for it in the record.
	do func(*rand.Rand, invariant.Invariant, *ht.Builder) string
}

var damages = map[string]damage{
	"one failed request":         {[]string{"NoFailedRequests"}, failOne},
	"one illegal binding":        {[]string{"Placement"}, bindIllegally},
	"evictions below the budget": {[]string{"BudgetHonoured"}, evictTooMany},
}

// TestDamageIsNeverHeld plants damage in records of which a promise is held, at random places. It is never Held afterwards.
func TestDamageIsNeverHeld(t *testing.T) {
	const seed = 15
	held := heldRecords(t)
	for name, d := range damages {
		t.Run(name, func(t *testing.T) {
			random := rand.New(rand.NewPCG(seed, uint64(len(name))))
			records := slices.DeleteFunc(slices.Clone(held), func(h heldRecord) bool {
				return !slices.Contains(d.kinds, invariant.Kind(h.promise))
			})
			done := 0
			for n := 0; done < howOften(plants, samplePlants); n++ {
				h := records[n%len(records)]
				b := h.record.Copy()
				how := d.do(random, h.promise, b)
				if how == "" {
					if n > 100*howOften(plants, samplePlants) {
						t.Fatalf("%d planted in %d tries: there are too few records", done, n)
					}
					continue
				}
				done++
				if v := judge.CheckAll(b.Run(), []invariant.Invariant{h.promise})[0]; v.Outcome == verdict.Held {
					t.Errorf("%s with %s is held: %s", h.name, how, v.Seen)
				}
			}
		})
	}
}

// failOne fails one request that was due under load, on a lane that is judged.
func failOne(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	from, to := b.Run().UnderLoad()
	lane := judgedLane(random, p, b)
	rows := b.Requests()
	for range 1000 {
		r := &rows[random.IntN(len(rows))]
		if r.Lane != lane || r.Outcome != history.OK || r.Due < from || r.Due >= to {
			continue
		}
		r.Outcome = pick(random, history.Refused, history.Reset, history.ClosedEarly, history.TimeoutConnect, history.TimeoutResponse,
			history.Stall, history.Truncated, history.WrongBody, history.BadStatus, history.BadTLS, history.GoAway, history.Masked, history.Other)
		if r.Outcome != history.Masked && r.Outcome != history.BadStatus {
			r.Status = 0
		}
		return fmt.Sprintf("%s at %s on %s", r.Outcome, r.Sent, lane)
	}
	return ""
}

// bound are the pods of a record that were bound to a node under the eyes of the watch, by UID, with the node.
func bound(b *ht.Builder) (uids []string, nodes map[string]string) {
	nodes = make(map[string]string)
	seen := make(map[string]bool)
	for _, e := range b.Events() {
		if e.Pod == nil || e.Pod.Namespace == "kube-system" {
			continue
		}
		if e.Pod.Node != "" && nodes[e.Pod.UID] == "" && seen[e.Pod.UID] && ruled(b, e.Pod.UID) {
			nodes[e.Pod.UID] = e.Pod.Node
			uids = append(uids, e.Pod.UID)
		}
		seen[e.Pod.UID] = true
	}
	return uids, nodes
}

// ruled tells of a pod that its rules are about other pods.
func ruled(b *ht.Builder, uid string) bool {
	return slices.ContainsFunc(b.Events(), func(e history.Event) bool {
		return e.Pod != nil && e.Pod.UID == uid && len(e.Pod.Rules) > len(`{}`)
	})
}

// bindIllegally makes a binding one that the scheduler's hard rules forbid.
func bindIllegally(random *rand.Rand, _ invariant.Invariant, b *ht.Builder) string {
	uids, nodes := bound(b)
	if len(uids) == 0 {
		return ""
	}
	uid := pick(random, uids...)
	if random.IntN(2) == 0 {
		b.EditEvents(func(e *history.Event) {
			if e.Pod == nil || e.Pod.UID != uid || len(e.Pod.Rules) == 0 {
				return
			}
			rules := make(map[string]any)
			if json.Unmarshal(e.Pod.Rules, &rules) == nil {
				rules["nodeSelector"] = map[string]string{"example.test/absent": "true"}
				e.Pod.Rules, _ = json.Marshal(rules) // strings and what was read
			}
		})
		return "a binding of " + uid + " that its node selector forbids"
	}
	node := nodes[uid]
	b.EditEvents(func(e *history.Event) {
		if e.Node != nil && e.Node.Name == node {
			e.Node.Unschedulable = true
		}
	})
	return "a binding of " + uid + " to " + node + ", which was cordoned all the time"
}

// evictTooMany has so many evictions of ready pods accepted at one moment that fewer are left than the budget demands.
func evictTooMany(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	promise, _ := p.(invariant.BudgetHonoured)
	at := underLoad(random, b)
	var budget *history.Budget
	pods := make(map[string]history.Pod)
	for _, e := range b.Run().Events {
		near := e.T > at-1500*ms && e.T < at+1500*ms // the record's moments may be off by a second
		if near && (e.Eviction != nil || e.Budget != nil || e.Pod != nil && e.Pod.Namespace != "kube-system") {
			return ""
		}
		if e.T > at {
			continue
		}
		if e.Budget != nil && (promise.Budget == "" || e.Budget.Name == promise.Budget) {
			budget = e.Budget
		}
		if e.Pod != nil {
			pods[e.Pod.UID] = *e.Pod
		}
	}
	if budget == nil || budget.DesiredHealthy == 0 {
		return ""
	}
	var ready []history.Pod
	for _, pod := range pods {
		if pod.Ready && !pod.Deleting && pod.Change != history.Deleted && history.Selects(budget.Selector, pod.Labels) && pod.Namespace == budget.Namespace {
			ready = append(ready, pod)
		}
	}
	slices.SortFunc(ready, func(a, b history.Pod) int { return strings.Compare(a.UID, b.UID) })
	many := len(ready) - budget.DesiredHealthy + 1
	if many < 1 || many > len(ready) {
		return ""
	}
	evicted := make(map[string]bool)
	for _, pod := range ready[:many] {
		evicted[pod.UID] = true
	}
	b.DropEvents(func(e history.Event) bool { return e.Pod != nil && evicted[e.Pod.UID] && e.T > at })
	for _, pod := range ready[:many] {
		b.Eviction(at, history.Eviction{Namespace: pod.Namespace, Pod: pod.Name, UID: pod.UID, Accepted: true})
		pod.Change, pod.Deleting, pod.Disruption = history.Modified, true, "EvictionByEvictionAPI"
		b.Pod(at+5*ms, pod)
		pod.Ready = false
		b.Pod(at+time.Second, pod)
	}
	return fmt.Sprintf("%d of %d evicted at %s, where %d are demanded", many, len(ready), at, budget.DesiredHealthy)
}
