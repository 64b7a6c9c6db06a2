package judge

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Reason is why a mutant breaks its promise, where that is no cause of failed requests. The record can refute it: another reason broke the
// promise then, and the mutant is not caught.
type Reason string

// The reasons.
const (
	StartsLate    Reason = "starts-late"        // what the fault took runs again on a node, and is not ready yet
	SlowEnding    Reason = "slow-while-it-ends" // a pod that the fault ends answers slowly
	NoNode        Reason = "no-node"            // the scheduler finds no node for a pod, by a rule of where pods may be
	HasNodes      Reason = "has-nodes"          // all pods of a workload have a node, and it is a bad one
	PastScheduler Reason = "past-the-scheduler" // a pod has its node from the beginning
	OneNode       Reason = "one-node"           // all pods were on the node of the fault
	Evicted       Reason = "evicted"            // an eviction was accepted
	Refused       Reason = "refused"            // a budget refused an eviction
	StillReached  Reason = "still-reached"      // requests reach a pod that is being deleted
	AllReady      Reason = "all-ready"          // all pods are ready, and some of them get too few requests
	Restarted     Reason = "restarted"          // a container of a pod that was resized has restarted
	NoQuorum      Reason = "no-quorum"          // the fault left no majority of the control planes
	Admitted      Reason = "admitted"           // a manifest was accepted that a policy must refuse
	NotMended     Reason = "not-mended"         // the audit finds again what it had found
)

// reasons are what the record says against each of them; empty: nothing.
var reasons = map[Reason]func(scene) string{
	StartsLate: scene.startsLate, SlowEnding: scene.slowEnding, NoNode: scene.noNode, HasNodes: scene.hasNodes, PastScheduler: scene.pastScheduler,
	OneNode: scene.oneNode, Evicted: scene.evicted, Refused: scene.refused, StillReached: scene.stillReached, AllReady: scene.allReady, Restarted: scene.restarted, NoQuorum: scene.noQuorum,
	Admitted: scene.admitted, NotMended: scene.notMended,
}

// KnownReason reports whether a record can refute a reason.
func KnownReason(r Reason) bool { return reasons[r] != nil }

// scene is the moment at which a promise was seen broken.
type scene struct {
	f     *evidence.Run
	by    verdict.Verdict
	lanes []history.Lane // that the mutant is about
	of    string         // the workload that the promise names; empty: any
	at    history.Offset
	s     *history.State // then
}

// refuted is what the record says against the reason of a mutant whose promise was broken; empty: nothing. A pod that waits for its image shows
// another reason than any of these. An older record has no reason.
func refuted(f *evidence.Run, m *history.Mutant, by verdict.Verdict, lanes []history.Lane) string {
	c := scene{f: f, by: by, lanes: lanes, at: cmp.Or(by.At, f.End())}
	c.s, c.of = f.Record.StateAt(c.at), workloadIn(m.Params)
	for _, p := range c.pods(c.s) {
		if slices.Contains(waitsForImage, p.Waiting) {
			return fmt.Sprintf("%s waited for its image at %s (%s)", p.Name, prose.Moment(c.at), p.Waiting)
		}
	}
	if m.Reason == "" {
		return ""
	}
	check := reasons[Reason(m.Reason)]
	if check == nil {
		return fmt.Sprintf("this version of holdfast does not know the reason %q that the mutant plants", m.Reason)
	}
	return check(c)
}

// waitsForImage are the reasons of the kubelet for a container that has no image.
var waitsForImage = []string{"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "ImageInspectError", "InvalidImageName", "RegistryUnavailable"}

// workloadIn is the workload that the parameters of a promise name; empty: none.
func workloadIn(params json.RawMessage) string {
	var named struct {
		Workload string `json:"workload"`
	}
	if json.Unmarshal(params, &named) != nil { // an older record has none
		return ""
	}
	return named.Workload
}

// workloads are those that the promise is about.
func (c scene) workloads() []history.Workload {
	return slices.DeleteFunc(c.f.Workloads(), func(w history.Workload) bool { return c.of != "" && w.Name != c.of })
}

// pods are those of the workloads in a state.
func (c scene) pods(s *history.State) (list []history.Pod) {
	for _, w := range c.workloads() {
		for _, p := range evidence.LivePods(s, w) {
			if !slices.ContainsFunc(list, func(had history.Pod) bool { return had.UID == p.UID }) {
				list = append(list, p)
			}
		}
	}
	return list
}

// before is a pod as it was when the first fault began; not there: it is newer.
func (c scene) before(uid string) (p history.Pod, there bool) {
	p, there = c.f.Record.StateAt(c.f.FirstFault().At).Pods[uid]
	return p, there
}

// unready are the pods that are not ready and not being deleted. why names one that no fault has touched.
func (c scene) unready() (list []history.Pod, why string) {
	for _, p := range c.pods(c.s) {
		if p.Ready || p.Deleting {
			continue
		}
		if _, old := c.before(p.UID); old && !c.touched(p.Name, p.Node) {
			return nil, fmt.Sprintf("%s was not ready at %s, and no fault had touched it", p.Name, prose.Moment(c.at))
		}
		list = append(list, p)
	}
	return list, ""
}

// touched reports whether a fault names a pod or its node.
func (c scene) touched(pod, node string) bool {
	return slices.ContainsFunc(c.f.Faults, func(f timeline.FaultLife) bool { return slices.Contains(f.Pods, pod) || slices.Contains(f.Nodes, node) })
}

// unless is a sentence about the moment, if what it denies is not so.
func (c scene) unless(ok bool, sentence string) string {
	if ok {
		return ""
	}
	return sentence + " at " + prose.Moment(c.at)
}

func (c scene) startsLate() string {
	starting, why := c.unready()
	for _, p := range starting {
		if p.Node == "" || p.Phase != "Running" || p.Waiting != "" {
			return c.unless(false, fmt.Sprintf("%s had not started (%s %s)", p.Name, p.Phase, p.Waiting))
		}
	}
	if why != "" {
		return why
	}
	return c.unless(len(starting) > 0, "no pod was starting")
}

func (c scene) noNode() string {
	waits := func(p *timeline.Pod) bool {
		return p.Reports.Any(c.at-evidence.WatchSkew, c.at, func(p *history.Pod) bool {
			return p.Node == "" && (strings.Contains(p.Unschedulable, "topology spread constraints") || strings.Contains(p.Unschedulable, "affinity rules"))
		})
	}
	return c.unless(slices.ContainsFunc(c.f.Timeline().Pods, waits), "no pod was without a node because of where pods may be")
}

func (c scene) hasNodes() string {
	for _, w := range c.workloads() {
		if pods := evidence.LivePods(c.s, w); len(pods) > 0 && len(pods) >= w.Replicas && len(evidence.Bound(pods)) == len(pods) {
			return ""
		}
	}
	return c.unless(false, "no workload had all of its pods on nodes")
}

func (c scene) pastScheduler() string {
	bound := func(p *timeline.Pod) bool {
		first := p.Reports[0]
		return first.Value.Node != "" && (first.At == c.at || p.Ready.OK && p.Ready.At == c.at)
	}
	return c.unless(slices.ContainsFunc(c.f.Timeline().Pods, bound), "the scheduler had bound the pod")
}

func (c scene) slowEnding() string {
	slow := make(map[history.Lane]bool)
	for r, err := range c.f.Record.Requests() {
		if err != nil {
			return err.Error()
		}
		limit := c.by.Limits["slowestSeconds."+string(r.Lane)].AtMost
		if limit != nil && r.Outcome == history.OK && (r.Done-r.Sent).Seconds() > *limit && c.ending(r) {
			slow[r.Lane] = true
		}
	}
	for _, lane := range c.lanes {
		if !slow[lane] {
			return fmt.Sprintf("no slow answer on %s came from a pod that a fault was ending", lane)
		}
	}
	return ""
}

// ending reports whether a request was answered by a pod that a fault was ending.
func (c scene) ending(r *history.Request) bool {
	return slices.ContainsFunc(c.f.Timeline().Pods, func(p *timeline.Pod) bool {
		return p.Name == r.Pod && p.Requested.OK && p.Requested.At <= r.Done+evidence.WatchSkew && c.touched(p.Name, p.Node)
	})
}

func (c scene) oneNode() string {
	for _, p := range c.pods(c.f.Record.StateAt(c.f.FirstFault().At)) {
		if !c.touched(p.Name, p.Node) {
			return fmt.Sprintf("%s was on %s, which no fault touched", p.Name, p.Node)
		}
	}
	return ""
}

func (c scene) evicted() string {
	unready, why := c.unready()
	for _, p := range unready {
		if p.Node == "" && p.Unschedulable != "" {
			why = c.unless(false, p.Name+" waited for a node")
		}
	}
	if why != "" {
		return why
	}
	accepted := slices.ContainsFunc(c.f.Record.Events, func(e history.Event) bool {
		return e.Eviction != nil && (e.Eviction.Accepted || e.Eviction.Lost != "") && e.T <= c.at+evidence.WatchSkew
	})
	return c.unless(accepted, "no eviction had been accepted")
}

func (c scene) refused() string {
	return c.unless(c.f.Refusals() > 0, "no budget had refused an eviction")
}

func (c scene) stillReached() string {
	ends := func(p history.Pod) bool { return p.Deleting }
	return c.unless(slices.ContainsFunc(c.pods(c.s), ends), "no pod was being deleted")
}

func (c scene) allReady() string {
	unready, why := c.unready()
	if why == "" && len(unready) > 0 {
		why = c.unless(false, unready[0].Name+" was not ready")
	}
	return why
}

func (c scene) restarted() string {
	restarted := func(p *timeline.Pod) bool {
		was, old := c.before(p.UID)
		now := c.s.Pods[p.UID]
		return old && now.Restarts > was.Restarts && p.Reports.Any(c.f.FirstFault().At, c.f.End(), func(p *history.Pod) bool { return p.CPU != "" && p.CPU != was.CPU })
	}
	return c.unless(slices.ContainsFunc(c.f.Timeline().Pods, restarted), "no container of a pod that was resized had restarted")
}

func (c scene) noQuorum() string {
	all, left := 0, 0
	for _, n := range c.f.Record.StateAt(c.f.FirstFault().At).Nodes {
		if _, is := n.Labels["node-role.kubernetes.io/control-plane"]; is {
			all++
			if !c.touched("", n.Name) {
				left++
			}
		}
	}
	if 2*left > all {
		return fmt.Sprintf("the fault left %d of %d control planes, which is a majority", left, all)
	}
	return ""
}

func (c scene) admitted() string {
	accepted := slices.ContainsFunc(c.f.Record.Events, func(e history.Event) bool {
		return e.Admission != nil && e.Admission.Against != "" && e.Admission.Accepted && e.T <= c.at
	})
	return c.unless(accepted, "no manifest that a policy must refuse had been accepted")
}

func (c scene) notMended() string {
	var found []string
	for _, e := range c.f.Record.Events {
		if e.Audit == nil || e.T > c.at {
			continue
		}
		for _, finding := range e.Audit.Findings {
			if e.T == c.at && slices.Contains(found, finding.Rule) {
				return ""
			}
			found = append(found, finding.Rule)
		}
	}
	return c.unless(false, "the audit found nothing that it had found before")
}
