package invariant_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/history/historytest/adversary"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// damage is one piece of damage, of the kind that a promise excludes.
type damage struct {
	kinds []string // of the promises that exclude it
	// do says what it did, and about which moment; empty: there is no place for it in the record.
	do func(*rand.Rand, invariant.Invariant, *ht.Builder) string
}

var damages = map[string]damage{
	"one failed request":                      {[]string{"NoFailedRequests"}, failOne},
	"one failed request beside a restart":     {[]string{"NoFailedRequests"}, failBesideRestart},
	"an outage for all beside a restart":      {[]string{"NoFailedRequests"}, outageBesideRestart},
	"one illegal binding":                     {[]string{"Placement"}, bindIllegally},
	"evictions below the budget":              {[]string{"BudgetHonoured"}, evictTooMany},
	"a workload that stays as it was damaged": {[]string{"RecoversWithin"}, neverRecovers},
	"an outage for all in that of a share":    {[]string{"FailuresEndWithin"}, outageForAll},
}

// TestDamageIsNeverHeld plants damage in records of which a promise is held, at random places. It is never Held afterwards, and neither is a recording
// or a step of a session of which it is a promise.
func TestDamageIsNeverHeld(t *testing.T) {
	for _, kind := range attackedKinds {
		held := kind.held(t)
		for _, name := range slices.Sorted(maps.Keys(damages)) {
			t.Run(kind.name+"/"+name, func(t *testing.T) {
				d := damages[name]
				records := slices.DeleteFunc(slices.Clone(held), func(h heldRecord) bool {
					return !slices.Contains(d.kinds, invariant.Kind(h.promise()))
				})
				if len(records) == 0 {
					t.Fatal("there is no record for it")
				}
				adversary.Attack(t, adversary.Times(1_000, 30), func(random *rand.Rand, number int) (did, wrong string) {
					h := records[number%len(records)]
					b := h.record.Copy()
					how := d.do(random, h.promise(), b)
					if how == "" {
						return "", ""
					}
					return fmt.Sprintf("%s: %s with %s", h.name, invariant.Kind(h.promise()), how), h.damaged(b)
				})
			})
		}
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

// bound are the pods of a record that were bound to a node under the eyes of the watch, by UID, with the node. A recording is judged from when its load
// flowed.
func bound(b *ht.Builder) (uids []string, nodes map[string]string) {
	nodes = make(map[string]string)
	seen := make(map[string]bool)
	run := b.Run()
	from, _ := run.UnderLoad()
	for _, e := range run.Events {
		if e.Pod == nil || e.Pod.Namespace == "kube-system" {
			continue
		}
		if e.Pod.Node != "" && nodes[e.Pod.UID] == "" {
			nodes[e.Pod.UID] = e.Pod.Node
			if seen[e.Pod.UID] && ruled(b, e.Pod.UID) && (run.Header.Recorded == nil || e.T > from) {
				uids = append(uids, e.Pod.UID)
			}
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
	if _, to := b.Run().UnderLoad(); at >= to-1500*ms { // a recording is not judged by what is seen after its load
		return ""
	}
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
		if b.Run().Header.Recorded == nil { // others evict in a recording
			b.Eviction(at, history.Eviction{Namespace: pod.Namespace, Pod: pod.Name, UID: pod.UID, Accepted: true})
		}
		pod.Change, pod.Deleting, pod.Disruption = history.Modified, true, "EvictionByEvictionAPI"
		b.Pod(at+5*ms, pod)
		pod.Ready = false
		b.Pod(at+time.Second, pod)
	}
	return fmt.Sprintf("%d of %d evicted at %s, where %d are demanded", many, len(ready), at, budget.DesiredHealthy)
}

// endOne has a pod that serves end in a way that nobody plans, or restarts a container of it, and returns its name; empty: there is none.
func endOne(random *rand.Rand, at history.Offset, b *ht.Builder) string {
	pods := make(map[string]history.Pod)
	for _, e := range b.Run().Events {
		if e.Pod != nil && e.T <= at {
			pods[e.Pod.UID] = *e.Pod
		}
	}
	uids := slices.DeleteFunc(slices.Sorted(maps.Keys(pods)), func(uid string) bool {
		p := pods[uid]
		return !p.Ready || p.Deleting || p.Change == history.Deleted || len(p.Labels) == 0
	})
	if len(uids) == 0 {
		return ""
	}
	pod := pods[pick(random, uids...)]
	pod.Change = history.Modified
	pick(random, podRestarts, podFails, podEvicted)(&pod)
	b.Pod(at, pod)
	if pod.Phase != "Failed" {
		pod.Ready = true
		b.Pod(at+500*ms, pod)
	}
	return pod.Name
}

// failBesideRestart ends a pod that serves, and fails a request that this cannot explain: so long before or after, that proxies know.
func failBesideRestart(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	at := underLoad(random, b)
	how := failOne(random, p, b)
	rows := b.Requests()
	failed := slices.IndexFunc(rows, func(r history.Request) bool { return r.Outcome.Failed() && r.Lane != history.LaneControl })
	if failed < 0 || (rows[failed].Sent-at).Abs() < 10*second || slices.ContainsFunc(rows[failed+1:], func(r history.Request) bool { return r.Outcome.Failed() }) {
		return ""
	}
	if pod := endOne(random, at, b); pod != "" {
		return fmt.Sprintf("%s, and the end of %s at %s", how, pod, at)
	}
	return ""
}

// outageBesideRestart ends a pod that serves, and fails all requests of a lane at about that time, and not a share of them.
func outageBesideRestart(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	at := underLoad(random, b)
	from := at - second + history.Offset(random.Int64N(int64(2*second)))
	how := outageFrom(random, p, b, from)
	if how == "" {
		return ""
	}
	if pod := endOne(random, at, b); pod != "" {
		return fmt.Sprintf("%s, and the end of %s at %s", how, pod, at)
	}
	return ""
}

// neverRecovers has no replica come back from a random moment on at which some were missing.
func neverRecovers(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	promise, _ := p.(invariant.RecoversWithin)
	var moments []history.Offset
	from, to := b.Run().UnderLoad()
	for _, e := range b.Events() {
		if w := e.Workload; w != nil && w.Ready < w.Replicas && e.T > from && e.T < to && (promise.Workload == "" || promise.Workload == w.Name) {
			moments = append(moments, e.T)
		}
	}
	if len(moments) == 0 {
		return ""
	}
	at := pick(random, moments...)
	b.DropEvents(func(e history.Event) bool {
		return e.T > at && (e.Workload != nil || e.Slice != nil || e.Pod != nil && e.Pod.Change != history.Deleted && !e.Pod.Deleting && e.Pod.Namespace != "kube-system")
	})
	return fmt.Sprintf("replicas that are missing from %s on", at)
}

// outageForAll fails all requests of a lane, and not a share, for some seconds within an outage or far from it.
func outageForAll(random *rand.Rand, p invariant.Invariant, b *ht.Builder) string {
	return outageFrom(random, p, b, underLoad(random, b))
}

func outageFrom(random *rand.Rand, p invariant.Invariant, b *ht.Builder, at history.Offset) string {
	lane := judgedLane(random, p, b)
	long := second + history.Offset(random.Int64N(int64(3*second)))
	outcome, n := pick(random, history.Refused, history.TimeoutConnect, history.BadStatus, history.Reset), 0
	_, to := b.Run().UnderLoad()
	b.EditRequests(func(r *history.Request) {
		if r.Lane == lane && r.Outcome == history.OK && r.Sent >= at && r.Sent < at+long && r.Due < to {
			r.Outcome, r.Status, r.Reused, r.Pod, r.Node, r.Zone, r.Revision, r.Inferred = outcome, 0, false, "", "", "", "", false
			if outcome == history.BadStatus {
				r.Status = 503
			}
			n++
		}
	})
	if n < 50 {
		return ""
	}
	return fmt.Sprintf("%d requests on %s failed with %s within %s from %s", n, lane, outcome, long, at)
}
