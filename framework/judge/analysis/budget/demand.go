package budget

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// desiredHealthy is how many healthy pods a budget demands of expected pods, as the disruption controller computes it:
// percentages are of the replicas that the pods' controllers want, rounded up, for maxUnavailable as well as for
// minAvailable; maxUnavailable wins where both are set, which the API refuses.
//
// Source: getExpectedPodCount in kubernetes pkg/controller/disruption/disruption.go, GetScaledValueFromIntOrPercent in
// k8s.io/apimachinery/pkg/util/intstr
func desiredHealthy(b history.Budget, expected int) (int, error) {
	if b.MaxUnavailable != "" {
		n, err := scaled(b.MaxUnavailable, expected)
		return max(expected-n, 0), err
	}
	if b.MinAvailable != "" {
		return scaled(b.MinAvailable, expected)
	}
	return 0, nil
}

// scaled returns 2 for "2", and half of the total, rounded up, for "50%".
func scaled(value string, total int) (int, error) {
	digits, isPercentage := strings.CutSuffix(value, "%")
	n, err := strconv.Atoi(digits)
	if err != nil || n < 0 {
		return 0, fmt.Errorf("read %q: want a number or a percentage", value)
	}
	if !isPercentage {
		return n, nil
	}
	return int(math.Ceil(float64(n) * float64(total) / 100)), nil
}

// Demand is what a budget, or the promise itself, demanded in the course of a run.
type Demand struct {
	Key      history.Key
	Words    string // "budget backend"
	Selector map[string]string
	points   []demandPoint    // in order
	Broken   string           // why it cannot be judged; empty: it can be
	own      bool             // the promise's own, not a budget's
	workload history.Workload // whose pods an own demand is about

	seen *history.Changes // when it was computed last; nil: never

	asked, tested bool // an eviction under it was requested; it was put to the test: see Ledger.test
}

// demandPoint is a demand from a moment on.
type demandPoint struct {
	at      history.Offset
	desired int
	allowed int  // disruptions, according to its status
	guards  bool // it also guards pods that are not ready (IfHealthyBudget)
	words   string
}

// Demands follows the budgets through a run.
func Demands(run history.Run, only func(history.Key) bool) []*Demand {
	var all []*Demand
	evidence.Moments(run, func(at history.Offset, s *history.State) {
		for key, b := range s.Budgets {
			if !only(key) {
				continue
			}
			i := slices.IndexFunc(all, func(d *Demand) bool { return d.Key == key })
			if i < 0 {
				i = len(all)
				all = append(all, &Demand{Key: key, Words: "budget " + key.Name, Selector: b.Selector})
			}
			all[i].follow(at, s, b)
		}
		for _, d := range all {
			if _, there := s.Budgets[d.Key]; !there {
				d.add(demandPoint{at: at, allowed: 1, words: "deleted"})
			}
		}
	})
	slices.SortFunc(all, func(a, b *Demand) int {
		return cmp.Or(strings.Compare(a.Words, b.Words), strings.Compare(a.Key.Namespace, b.Key.Namespace))
	})
	return all
}

// Chosen chooses the pods that the demand is about: those that a budget selects, or, of a promise, those that its workload owns.
func (d *Demand) Chosen() history.Choice {
	if d.own {
		return d.workload.Pods()
	}
	return history.Selected(d.Key.Namespace, d.Selector)
}

func (d *Demand) follow(at history.Offset, s *history.State, b history.Budget) {
	switch {
	case b.SelectsBy != "":
		d.Broken = "it selects its pods by more than plain labels: " + b.SelectsBy
		return
	case len(b.Selector) == 0: // all pods, none, or expressions: an old record does not say which
		d.Broken = "it selects its pods by something other than plain labels"
		return
	}
	d.Selector = b.Selector
	now := s.Changes(history.Selected(b.Namespace, b.Selector))
	if d.seen != nil && *d.seen == now { // most events are about other workloads
		return
	}
	d.seen = &now
	expected, unclear := expectedPods(s, b)
	if unclear != "" {
		d.Broken = unclear
		return
	}
	desired, err := desiredHealthy(b, expected)
	if err != nil {
		d.Broken = err.Error()
		return
	}
	p := demandPoint{at: at, desired: desired, allowed: b.DisruptionsAllowed, guards: b.UnhealthyPodEvictionPolicy == "IfHealthyBudget"}
	p.words = fmt.Sprintf("minAvailable %s", b.MinAvailable)
	if b.MaxUnavailable != "" {
		p.words = fmt.Sprintf("maxUnavailable %s", b.MaxUnavailable)
	}
	p.words += fmt.Sprintf(" of %d", expected)
	d.add(p)
}

// add keeps a point if it differs from the last one.
func (d *Demand) add(p demandPoint) {
	if n := len(d.points); n > 0 {
		if last := d.points[n-1]; last.desired == p.desired && last.allowed == p.allowed && last.guards == p.guards {
			return
		}
	}
	d.points = append(d.points, p)
}

// expectedPods sums up the replicas of the workloads that own the budget's pods. If the record names none, it uses the budget's own
// status. It is unknown whether a workload that selects its pods by more than plain labels owns them.
func expectedPods(s *history.State, b history.Budget) (expected int, unclear string) {
	owners := make(map[history.Key]int)
	may := make(map[history.Key]history.Workload) // few, of a cluster's many
	for key, w := range s.Workloads {
		if key.Namespace == b.Namespace && len(w.Selector) > 0 && !exclude(w.Selector, b.Selector) {
			may[key] = w
		}
	}
	for _, pod := range s.PodsOf(history.Selected(b.Namespace, b.Selector)) {
		for key, w := range may {
			if w.Owns(&pod) {
				if w.SelectsBy != "" && pod.Owner == "" {
					return 0, key.Name + ", which may own its pods, selects them by more than plain labels: " + w.SelectsBy
				}
				owners[key] = w.Replicas
			}
		}
	}
	if len(owners) == 0 {
		return b.ExpectedPods, ""
	}
	for _, replicas := range owners {
		expected += replicas
	}
	return expected, ""
}

// exclude reports whether no labels can match both of two selectors.
func exclude(a, b map[string]string) bool {
	for name, value := range a {
		if other, both := b[name]; both && other != value {
			return true
		}
	}
	return false
}

// at is the smallest demand between from and to, and its words; -1 if nothing was demanded yet.
func (d *Demand) at(from, to history.Offset) demandPoint {
	least := demandPoint{desired: -1}
	for i, p := range d.points {
		over := i+1 < len(d.points) && d.points[i+1].at <= from
		if p.at <= to && !over && (least.desired < 0 || p.desired < least.desired) {
			least = p
		}
	}
	return least
}

// Blocked reports whether its status allowed no disruption at some moment between from and to.
func (d *Demand) Blocked(from, to history.Offset) bool {
	return d.some(from, to, func(p demandPoint) bool { return p.allowed <= 0 })
}

// Open reports whether its status allowed a disruption at some moment between from and to.
func (d *Demand) Open(from, to history.Offset) bool {
	return d.some(from, to, func(p demandPoint) bool { return p.allowed > 0 })
}

// guards reports whether it certainly guarded pods that are not ready, all the time between from and to.
func (d *Demand) guards(from, to history.Offset) bool {
	return d.at(from, to).desired >= 0 && !d.some(from, to, func(p demandPoint) bool { return !p.guards })
}

func (d *Demand) some(from, to history.Offset, like func(demandPoint) bool) bool {
	for i, p := range d.points {
		over := i+1 < len(d.points) && d.points[i+1].at <= from
		if p.at <= to && !over && like(p) {
			return true
		}
	}
	return false
}
