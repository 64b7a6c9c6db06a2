package timeline

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// HopelessAfter is how long nothing must change, while Kubernetes gives a reason that does not pass by itself, until a rollout counts as
// hopeless. A scheduler or a controller that is away for a moment has tried again several times by then.
const HopelessAfter = time.Minute

// Crashes is how many restarts of a pod that is not ready show that it does not start.
const Crashes = 3

// stuck are the reasons of waiting containers that do not pass unless a person or a controller changes something.
var stuck = []string{
	"ErrImagePull", "ImagePullBackOff", "ErrImageNeverPull", "InvalidImageName", "CreateContainerConfigError", "CreateContainerError", "RunContainerError",
}

// Stuck reports whether a container that waits for a reason does not start by itself.
func Stuck(reason string) bool { return slices.Contains(stuck, reason) }

// RolloutReason is why a rollout makes no progress, in Kubernetes' own words; the zero RolloutReason: nothing is known.
type RolloutReason struct {
	Words  string
	Pod    string // that is there and does not start; empty: none is named
	NoRoom bool   // a new pod has no place, on any node or in a quota
	final  bool   // Kubernetes has given it up
}

// RolloutWatch follows a workload through a rollout.
type RolloutWatch struct {
	last    counts
	since   history.Offset // nothing has changed, and there is a reason
	reason  RolloutReason
	refused string // the last refusal of a pod of a StatefulSet or DaemonSet, which has no condition for it
}

// counts are what changes when a rollout makes progress.
type counts struct {
	template                                                        string
	replicas, updated, ready, available, total, pods, placed, going int
}

// Note takes in a Kubernetes Event about the workload itself.
func (r *RolloutWatch) Note(kind, reason, message string) {
	if (kind == "StatefulSet" || kind == "DaemonSet") && reason == "FailedCreate" {
		r.refused = message
	}
}

// See takes in the workload and its pods at a moment.
func (r *RolloutWatch) See(at history.Offset, w history.Workload, pods []history.Pod) {
	now := counts{
		template: w.Template, replicas: w.Replicas, updated: w.Updated, ready: w.Ready, available: w.Available, total: w.Total, pods: len(pods),
	}
	for _, p := range pods {
		if p.Node != "" {
			now.placed++
		}
		if p.Deleting {
			now.going++
		}
	}
	if w.Kind() != "Deployment" && len(pods) < w.Replicas {
		w.Refused = r.refused
	}
	if r.reason = why(w, pods, now.going > 0); r.reason == (RolloutReason{}) || now != r.last {
		r.since = at
	}
	r.last = now
}

// Since is from when on nothing has changed although there is a reason.
func (r *RolloutWatch) Since() history.Offset { return r.since }

// Hopeless is why the rollout does not come to its end, if that does not pass by itself: Kubernetes has given it up, or nothing has changed
// for a time. The zero RolloutReason: it may go on.
func (r *RolloutWatch) Hopeless(at history.Offset, after time.Duration) RolloutReason {
	if r.reason.final || r.reason != (RolloutReason{}) && at-r.since >= after {
		return r.reason
	}
	return RolloutReason{}
}

// why is what Kubernetes says at a moment. What waits for a pod that is going may have its place in a moment, and what the controller says of
// an older version tells nothing.
func why(w history.Workload, pods []history.Pod, going bool) RolloutReason {
	switch {
	case w.Settled() || !w.Observed:
		return RolloutReason{}
	case w.Refused != "" && !going:
		r := RolloutReason{Words: "no further pod is created (FailedCreate): " + w.Refused, NoRoom: strings.Contains(w.Refused, "exceeded quota")}
		return r.overdue(w)
	}
	for _, p := range pods {
		if p.Deleting || p.Ended() {
			continue
		}
		switch {
		case p.Node == "" && p.Unschedulable != "" && !going:
			return RolloutReason{Words: fmt.Sprintf("no node takes pod %s (FailedScheduling): %s", p.Name, p.Unschedulable), NoRoom: true}.overdue(w)
		case Stuck(p.Waiting):
			return RolloutReason{Pod: p.Name, Words: fmt.Sprintf("pod %s does not start (%s)", p.Name, p.Waiting)}.overdue(w)
		case !p.Ready && p.Restarts >= Crashes:
			return RolloutReason{Pod: p.Name, Words: fmt.Sprintf("pod %s was restarted %d times and is not ready (CrashLoopBackOff)", p.Name, p.Restarts)}.overdue(w)
		}
	}
	return RolloutReason{}.overdue(w)
}

// overdue adds that the progress deadline has passed.
func (r RolloutReason) overdue(w history.Workload) RolloutReason {
	switch {
	case w.Overdue == "":
		return r
	case r.Words == "":
		r.Words = "ProgressDeadlineExceeded: " + w.Overdue
	default:
		r.Words += "; ProgressDeadlineExceeded: " + w.Overdue
	}
	r.final = true
	return r
}
