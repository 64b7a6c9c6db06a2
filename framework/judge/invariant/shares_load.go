package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/outage"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// SharesLoad promises that new pods take load: from Within after the last new pod became ready until the revert of the fault
// begins, every ready pod of the workload receives at least AtLeast of an equal share of a lane's requests. On the reused lane, the
// default, that needs connections that end now and then, because a Service picks a pod once for each connection.
//
// Evidence: that of NoFailedRequests about the load; a new pod; pods that were always ready; and so many connections that a fair
// random distribution breaks the promise in less than one of a million runs. Fewer connections prove a violation if chance cannot
// explain it. How many are needed depends on the number of pods and on AtLeast; a backend that closes a connection after n requests
// gets rate / n a second. Requests through a gateway are not judged, because the record lacks its connections to the pods.
//
// Source: https://kubernetes.io/docs/reference/networking/virtual-ips/
type SharesLoad struct {
	// AtLeast of an equal share; below 1.
	AtLeast float64 `json:"atLeast"`
	// Within is the time that clients have to find the new pods.
	Within time.Duration `json:"within,omitempty"`
	// Together weighs all new pods as one, against their number: the load has moved, however unevenly.
	Together bool `json:"together,omitempty"`
	// Lane to judge; empty means reused. Workload is the Deployment; empty means the only one in the record.
	Lane     history.Lane `json:"lane,omitempty"`
	Workload string       `json:"workload,omitempty"`
}

func (p SharesLoad) lane() history.Lane { return cmp.Or(p.Lane, history.LaneReused) }

func (p SharesLoad) String() string {
	who := "each ready pod of " + whose(p.Workload) + " has"
	if p.Together {
		who = "the new pods of " + whose(p.Workload) + " together have"
	}
	return fmt.Sprintf("from %s after the last new pod is ready, %s at least %v of an equal share of the requests on %s",
		p.Within, who, p.AtLeast, p.lane())
}

// shareParts is the number of parts of the time for which the evidence lists shares.
const shareParts = 4

// Needs implements Invariant.
func (p SharesLoad) Needs() evidence.Needs {
	return evidence.Needs{Since: evidence.Undisturbed, Requests: true, Parts: []evidence.Part{evidence.PartPods}}
}

// Requests implements RequestInvariant.
func (p SharesLoad) Requests(f *evidence.Run, t *requests.Stats) RequestCheck {
	key, ambiguous := evidence.WorkloadOf(f.Record, p.Workload)
	j := &sharesLoad{promise: p, facts: f, tally: t, ambiguous: ambiguous, name: key.Name,
		byName: make(map[string]*hand), dealt: make(map[connection]bool)}
	if len(ambiguous) == 0 {
		j.scaleOut = followScaleOut(f, key)
	}
	j.from = min(j.ready+max(0, p.Within), j.to)
	for _, pod := range j.pods {
		h := &hand{readyPod: pod}
		j.hands = append(j.hands, h)
		j.byName[pod.name] = h
	}
	return j
}

type sharesLoad struct {
	promise   SharesLoad
	facts     *evidence.Run
	tally     *requests.Stats
	ambiguous verdict.Missing
	name      string // name of the workload
	scaleOut
	from history.Offset // shares count from here on

	hands   []*hand
	byName  map[string]*hand
	dealt   map[connection]bool
	gateway bool // requests came through a gateway
}

// connection of a worker.
type connection struct {
	worker string
	number uint64
}

// hand is what a pod received.
type hand struct {
	readyPod
	early       uint64             // requests before the time that counts
	parts       [shareParts]uint64 // requests in the time that counts
	connections int
}

func (h *hand) requests() (n uint64) {
	for _, part := range h.parts {
		n += part
	}
	return n
}

func (j *sharesLoad) Take(r *history.Request) {
	h := j.byName[r.Pod]
	if h == nil || r.Lane != j.promise.lane() || !evidence.Reached(r) || r.Sent < j.ready || r.Sent >= j.to {
		return
	}
	j.gateway = j.gateway || r.GatewayTries > 0
	if r.Sent < j.from {
		h.early++
		return
	}
	part := int(shareParts * (r.Sent - j.from).Seconds() / (j.to - j.from).Seconds())
	h.parts[max(0, min(part, shareParts-1))]++ // a damaged record may hold any moment
	if c := (connection{r.Worker, r.Conn}); !j.dealt[c] && len(j.dealt) < stats.MaxDeal {
		j.dealt[c] = true
		h.connections++
	}
}

func (j *sharesLoad) End(missing verdict.Missing) verdict.Verdict {
	v, lanes := verdict.Verdict{}, []history.Lane{j.promise.lane()}
	missing = slices.Concat(missing, j.ambiguous, j.doubts(), j.tally.Delivered(lanes))
	total := j.total()
	if total == 0 || j.fresh() == 0 {
		missing.Add("no new pod of %s was ready while %s flowed", j.name, lanes[0])
		return v.Unknown(missing)
	}
	j.sort()
	starved, got := j.starved(total)
	enough := j.deal().Enough()
	fewDealt := len(j.dealt) < enough
	if len(starved) > 0 && stats.Surprise(len(j.hands), len(starved), len(j.dealt), got) < outage.Chance {
		fewDealt = false // enough to exclude chance
	}
	if fewDealt {
		missing.Add("%s carried requests on %s from %s to %s, and %d are needed: fewer, spread at random over %s, leave one pod short by chance",
			prose.Count(len(j.dealt), "connection"), lanes[0], prose.Moment(j.from), prose.Moment(j.to), enough, prose.Count(len(j.hands), "pod"))
	}
	j.numbers(&v, total, enough)
	j.support(&v, total)
	if len(starved) > 0 {
		if fewDealt || j.gateway || j.blind() {
			return v.Unknown(missing)
		}
		v.At = j.from
		return v.Violated(missing, "%s had less than %v of an equal share; the least was %s, of %s", j.accused(starved), j.promise.AtLeast,
			shareText(j.least(total)), j.load(total))
	}
	return v.Held(missing, "%s had at least %s of an equal share of %s", j.praised(), shareText(j.least(total)), j.load(total))
}

// doubts are the reasons why shares prove nothing.
func (j *sharesLoad) doubts() (missing verdict.Missing) {
	if len(j.ambiguous) > 0 {
		return nil
	}
	if j.gateway {
		missing.Add("requests came through a gateway, whose connections to the pods are not in the record")
	}
	if len(j.unsteady) > 0 {
		missing.Add("%s of %s was not always ready from %s to %s", j.unsteady[0], j.name, prose.Moment(j.ready), prose.Moment(j.to))
	}
	if j.fresh() > 0 && j.to-j.ready <= j.promise.Within {
		missing.Add("the pods were all ready for %s only, and their share counts from %s on", prose.Moment(j.to-j.ready), j.promise.Within)
	}
	if n := len(j.hands); n == 1 || n > 0 && j.fresh() == n && j.promise.Together {
		missing.Add("there are no pods to share with: %s, %d of them new", prose.Count(n, "pod"), j.fresh())
	}
	return missing
}

// blind says whether a watch may have missed a change of readiness.
func (j *sharesLoad) blind() bool {
	begin, end := j.facts.Begin(), j.facts.End()
	return slices.ContainsFunc(j.facts.Gaps, func(e history.Event) bool {
		return e.Gap.Since < end && e.T >= begin && e.Gap.Since <= j.to+evidence.WatchSkew && e.T >= j.ready-evidence.WatchSkew
	})
}

// Deal is the distribution of the connections over the judged pods.
func (j *sharesLoad) deal() stats.Deal {
	n := len(j.hands)
	if j.promise.Together {
		return stats.Deal{Chance: float64(j.fresh()) / float64(n), Hands: 1, AtLeast: j.promise.AtLeast}
	}
	return stats.Deal{Chance: 1 / float64(n), Hands: n, AtLeast: j.promise.AtLeast}
}

func (j *sharesLoad) total() (n uint64) {
	for _, h := range j.hands {
		n += h.requests()
	}
	return n
}

// share is what some pods received, relative to an equal share of everything.
func (j *sharesLoad) share(of []*hand, total uint64) float64 {
	var n uint64
	for _, h := range of {
		n += h.requests()
	}
	return float64(n) / float64(total) * float64(len(j.hands)) / float64(len(of))
}

// newcomers are the hands of the new pods.
func (j *sharesLoad) newcomers() []*hand {
	return slices.DeleteFunc(slices.Clone(j.hands), func(h *hand) bool { return !h.isNew })
}

// starved are the pods that received too little, and the number of their connections.
func (j *sharesLoad) starved(total uint64) (list []*hand, connections int) {
	if j.promise.Together {
		if list = j.newcomers(); j.share(list, total) >= j.promise.AtLeast {
			return nil, 0
		}
	} else {
		for _, h := range j.hands {
			if j.share([]*hand{h}, total) < j.promise.AtLeast {
				list = append(list, h)
			}
		}
	}
	for _, h := range list {
		connections += h.connections
	}
	return list, connections
}

// least is the smallest judged share.
func (j *sharesLoad) least(total uint64) float64 {
	if j.promise.Together {
		return j.share(j.newcomers(), total)
	}
	return j.share(j.hands[:1], total)
}

// sort puts the pods that received least first.
func (j *sharesLoad) sort() {
	slices.SortStableFunc(j.hands, func(a, b *hand) int {
		return cmp.Or(cmp.Compare(a.requests(), b.requests()), cmp.Compare(a.name, b.name))
	})
}
