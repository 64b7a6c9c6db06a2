package certificate

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/reports"
)

// look is the result as which a word of a certificate is drawn.
func look(word any) reports.Result {
	switch fmt.Sprint(word) {
	case string(Certified), string(reports.Held):
		return reports.Held
	case string(NotCertified), string(reports.Violated):
		return reports.Violated
	case string(reports.Interrupted), string(reports.NotBegun), string(Interrupted):
		return reports.Interrupted
	}
	return reports.Unknown
}

// ResultOf is the result of a certificate as that of a run.
func ResultOf(r Result) reports.Result { return look(r) }

// Heading is the result as a heading.
func (c *Certificate) Heading() string {
	switch c.Result {
	case Certified:
		return "Certified"
	case Partial:
		return "Partly certified"
	}
	return "Not certified"
}

// Summary is the certificate in a few sentences.
func (c *Certificate) Summary() string {
	var parts []string
	for i := range c.Profiles {
		parts = append(parts, c.Profiles[i].Name+" is "+string(c.Profiles[i].Result))
	}
	if a := c.Application; a != nil {
		parts = append(parts, "application "+a.Name+" is "+string(a.Result))
	}
	text := fmt.Sprintf("Kubernetes %s to %s: %s.", c.From.Kubernetes, c.To.Kubernetes, strings.Join(parts, ", "))
	if c.Upgrade.Requests > 0 {
		text += " During the upgrade " + c.Upgrade.counted() + "."
	}
	if a := c.Application; a != nil && a.Upgrade.Requests > 0 {
		text += " During that of application " + a.Name + " " + a.Upgrade.counted() + "."
	}
	return text
}

// Meaning says what the requests during the upgrade prove.
func (u *Upgrade) Meaning() string {
	if u.Requests == 0 {
		return u.Why
	}
	return strings.ToUpper(u.counted()[:1]) + u.counted()[1:] + ", in " + seconds(u.TookSeconds) + "."
}

// counted are requests, disruptions and their bounds.
func (s *Side) counted() string {
	text := fmt.Sprintf("%s of %s failed over %s", prose.Thousands(s.Failed), prose.Counted(s.Requests, "request"), s.Disruptions)
	if s.UpperBound95 != nil {
		text += "; " + reports.BoundsInWords(s.UpperBound95, s.Disruptions.UpperBound95)
	}
	return text
}

// none stands for a missing number.
const none = "–"

func share(s *float64) string { return known(s, prose.Share) }

func maybe(s *float64) string { return known(s, seconds) }

func skew(n *int) string { return known(n, strconv.Itoa) }

// known writes a number; none if there is none.
func known[T any](number *T, text func(T) string) string {
	if number == nil {
		return none
	}
	return text(*number)
}

func seconds(s float64) string { return prose.Brief(time.Duration(s * float64(time.Second))) }

// latency is a number of seconds; none if no request succeeded.
func latency(s float64) string {
	if s == 0 {
		return none
	}
	return seconds(s)
}

// warned says which side warned about an API.
func warned(d Deprecation) string {
	switch {
	case d.Before && d.After:
		return "before and after"
	case d.After:
		return "only after"
	case d.Before:
		return "only before"
	}
	return "neither"
}

// P99 is the worst 99th percentile of all lanes but control, in seconds.
func (s *Side) P99() (worst float64) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != "control" {
			worst = max(worst, s.Lanes[i].P99Seconds)
		}
	}
	return worst
}

// CauseInWords is "; cause: " and the cause with its explanation, to follow what it explains; empty if the cause is not known.
func CauseInWords(cause string) string {
	if cause == "" {
		return ""
	}
	words := attribution.Cause(cause).Words()
	for _, one := range failureCauses {
		if one.cause == cause {
			words = one.words
		}
	}
	if words == cause {
		return "; cause: " + cause
	}
	return fmt.Sprintf("; cause: %s (%s)", cause, words)
}

// failureCauses are why a step of an upgrade fails, and the text by which Kubernetes says so.
var failureCauses = []struct{ cause, words, says string }{
	// k8s.io/apiserver/pkg/admission/plugin/webhook/errors
	{"webhook-unreachable", "an admission webhook with failurePolicy Fail could not be called, so its objects could not be changed", "failed calling webhook"},
	{"webhook-denied", "an admission webhook refused it", "admission webhook"},
	// k8s.io/kubernetes/pkg/registry/core/pod/storage/eviction.go
	{"budget-refuses", "a disruption budget allowed no eviction", "would violate the pod's disruption budget"},
	{"image-missing", "an image was neither in the node nor could be pulled", "ErrImagePull"},
	{"image-missing", "an image was neither in the node nor could be pulled", "ImagePullBackOff"},
}

// CauseOf is the cause of a failed step, from its error; empty if it is not known.
func CauseOf(why string) string {
	for _, one := range failureCauses {
		if strings.Contains(why, one.says) {
			return one.cause
		}
	}
	return ""
}

// A difference between two numbers is marked if one is more than Factor times the other and more than Floor away from it. Numbers do not
// decide what is certified. Verdicts do, and promises have their own limits.
//
// The values come from stored good runs of the same scenarios and version, on two cores that had other work: of 60 pairs none differed by
// as much in recovery, and of 270 pairs 16 did in p99. With a floor of 20 ms for p99 it would have been 36.
const (
	RecoveryFactor = 2
	RecoveryFloor  = 5 * time.Second
	P99Factor      = 3
	P99Floor       = 200 * time.Millisecond
	// With maxSkew 1 the skew is 0 or 1 by chance.
	SkewFloor = 1
)

// Marks explains which differences are marked.
func (*Certificate) Marks() string {
	return fmt.Sprintf("Marked are verdicts that differ, and numbers that differ by more than they do by chance on a small machine: recovery by a factor of %d and %s, "+
		"p99 by a factor of %d and %s, skew by more than %d.", RecoveryFactor, prose.Brief(RecoveryFloor), P99Factor, prose.Brief(P99Floor), SkewFloor)
}

// Marked is whether one number is more than factor times the other, and more than floor away from it.
func Marked(was, is, factor, floor float64) bool {
	low, high := min(was, is), max(was, is)
	return high > low*factor && high-low > floor
}
