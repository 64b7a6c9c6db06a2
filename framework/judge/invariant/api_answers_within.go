package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// APIAnswersWithin promises that, while a fault of the control plane is active, every remaining API server answers again within a
// limit: each of them, probed at its own address, gives good answers with at most Limit between two of them. The probes read what
// etcd has to agree on, so an election of another etcd leader counts.
//
// The load balancer in front of several control planes is reported, but not judged. Kind's own takes some seconds to notice a dead
// control plane, and sends new connections to it until then.
//
// Evidence: good answers before the fault, at most Limit apart (otherwise the machine was too busy), and probes after the fault
// began. One node sends all probes. While it is paused or lacks time, every API server looks unavailable, so it probes its own
// kubelet, too. If less than Limit remains after subtracting the longest pause of the node, or the longest time without a good
// answer of its kubelet, a violation is Unknown.
//
// Sources: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/ha-topology/,
// https://etcd.io/docs/latest/op-guide/failures/#leader-failure
type APIAnswersWithin struct {
	Limit time.Duration `json:"limit"`
}

func (p APIAnswersWithin) String() string {
	return fmt.Sprintf("every remaining API server answers again within %s", p.Limit)
}

// Needs implements Invariant.
func (p APIAnswersWithin) Needs() evidence.Needs {
	return evidence.Needs{Watches: evidence.Unwatched, Parts: []evidence.Part{evidence.PartProbes}}
}

// Judge implements EventInvariant.
func (p APIAnswersWithin) Judge(f *evidence.Run, missing verdict.Missing) verdict.Verdict {
	var v verdict.Verdict
	v.Measure("limitSeconds", p.Limit.Seconds())
	var direct, balanced, control []history.Reach
	hosts := map[string]bool{}
	for _, r := range f.Record.Reaches() {
		switch r.Way {
		case history.Direct:
			direct, hosts[r.Host] = append(direct, r), true
		case history.Balanced:
			balanced = append(balanced, r)
		case history.Control:
			control = append(control, r)
		}
		p.doubt(r, &missing)
	}
	if len(direct) == 0 {
		missing.Add("no API server was probed at its own address while a fault was active")
		return v.Unknown(missing)
	}
	own := longest(direct)
	v.Measure("apiAwaySeconds", own.Longest.Seconds())
	v.AtMost("apiAwaySeconds", p.Limit.Seconds())
	asked, failed := 0, 0
	for _, r := range direct {
		asked, failed = asked+r.Asked, failed+r.Failed
		v.Support(fmt.Sprintf("%s, %s: %d of %s failed; at most %s between two answers, %s before the fault",
			r.Host, stageOf(r), r.Failed, prose.Count(r.Asked, "request"), prose.Moment(r.Longest), prose.Moment(r.Before)))
	}
	v.Measure("apiRequests", float64(asked))
	v.Measure("apiFailed", float64(failed))
	besides := ""
	if len(balanced) > 0 {
		through := slices.MaxFunc(balanced, func(a, b history.Reach) int { return cmp.Compare(a.Failing, b.Failing) })
		v.Measure("balancerAwaySeconds", longest(balanced).Longest.Seconds())
		v.Measure("balancerFailingSeconds", through.Failing.Seconds())
		v.Measure("balancerFailed", float64(through.Failed))
		besides = fmt.Sprintf("; through %s, which is not judged, %d of %s failed %s, over %s", through.Host, through.Failed,
			prose.Count(through.Asked, "request"), stageOf(through), prose.Moment(through.Failing))
	}
	// An outage that the probing node explains must not hide one that it does not explain.
	explained := func(r history.Reach) bool { return p.explained(f, r, control) != "" }
	if late := slices.DeleteFunc(slices.Clone(direct), func(r history.Reach) bool { return r.Longest <= p.Limit }); len(late) > 0 {
		plain := slices.DeleteFunc(slices.Clone(late), explained)
		if len(plain) == 0 {
			missing.Add("%s", p.explained(f, longest(late), control))
			return v.Unknown(missing)
		}
		own = longest(plain)
		return v.Violated(missing, "%s gave no answer for %s %s, and %s was the limit%s", own.Host, prose.Moment(own.Longest), stageOf(own), p.Limit, besides)
	}
	return v.Held(missing, "%s that remained answered with at most %s between two answers (%d of %s failed)%s",
		prose.Count(len(hosts), "API server"), prose.Moment(own.Longest), failed, prose.Count(asked, "request"), besides)
}

// doubt reports probes that are missing, or that cannot be compared with.
func (p APIAnswersWithin) doubt(r history.Reach, missing *verdict.Missing) {
	switch {
	case r.Way != history.Direct: // not judged
	case r.Returning: // reported before
	case r.BeforeAsked == 0 || r.Asked == 0:
		missing.Add("%s was probed %d times before the fault and %d times afterwards", r.Host, r.BeforeAsked, r.Asked)
	case r.BeforeFailed > 0:
		missing.Add("%d of %s to %s failed before the fault", r.BeforeFailed, prose.Count(r.BeforeAsked, "request"), r.Host)
	case r.Before > p.Limit:
		missing.Add("%s gave no answer for %s before the fault", r.Host, prose.Moment(r.Before))
	}
}

// stageOf names the time that a probe covers.
func stageOf(r history.Reach) string {
	if r.Returning {
		return "while the fault was reverted"
	}
	return "until the revert"
}

// explained is what the probing node itself explains of the time without an answer, if less than Limit of it remains; empty:
// nothing.
func (p APIAnswersWithin) explained(f *evidence.Run, r history.Reach, control []history.Reach) string {
	if e := f.WorstPause(f.FaultsOn()); e != nil && r.Longest-max(e.Noise.Pause, e.Noise.Throttled) <= p.Limit {
		return evidence.DescribeNoise(e)
	}
	if slowed, why := f.Slowed(f.FaultsOn()); slowed > 0 && r.Longest-slowed <= p.Limit {
		return "it " + why.Words
	}
	if c := longest(sameStage(control, r)); r.Longest-c.Longest <= p.Limit {
		return fmt.Sprintf("%s sends the probes, and its own kubelet gave it no good answer for %s %s", c.Host, prose.Moment(c.Longest), stageOf(c))
	}
	return ""
}

// sameStage are the probes of the same time as r.
func sameStage(all []history.Reach, r history.Reach) []history.Reach {
	return slices.DeleteFunc(slices.Clone(all), func(o history.Reach) bool { return o.Fault != r.Fault || o.Returning != r.Returning })
}

// longest is the probe with the longest time without an answer; the zero value for none.
func longest(all []history.Reach) history.Reach {
	if len(all) == 0 {
		return history.Reach{}
	}
	return slices.MaxFunc(all, func(a, b history.Reach) int { return cmp.Compare(a.Longest, b.Longest) })
}
