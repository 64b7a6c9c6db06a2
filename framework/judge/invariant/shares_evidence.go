package invariant

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// numbers adds the shares to a verdict. The hands are sorted.
func (j *sharesLoad) numbers(v *verdict.Verdict, total uint64, enough int) {
	v.Measure("pods", float64(len(j.hands)))
	v.Measure("newPods", float64(j.fresh()))
	v.Measure("connections", float64(len(j.dealt)))
	v.Measure("connectionsNeeded", float64(enough))
	v.Measure("requests", float64(total))
	v.Measure("windowSeconds", (j.to - j.from).Seconds())
	v.Measure("smallestShare", j.share(j.hands[:1], total))
	v.Measure("largestShare", j.share(j.hands[len(j.hands)-1:], total))
	v.Measure("newPodsShare", j.share(j.newcomers(), total))
}

// load describes what was shared: "12000 requests on reused (120 connections) from 31s to 51s; 7 of 10 pods were new".
func (j *sharesLoad) load(total uint64) string {
	return fmt.Sprintf("%s on %s (%s) from %s to %s; %d of %s were new, the last of them ready at %s", prose.Count(total, "request"),
		j.promise.lane(), prose.Count(len(j.dealt), "connection"), prose.Moment(j.from), prose.Moment(j.to), j.fresh(), prose.Count(len(j.hands), "pod"),
		prose.Moment(j.ready))
}

func (j *sharesLoad) accused(starved []*hand) string {
	if j.promise.Together {
		return "the new pods together"
	}
	return fmt.Sprintf("%d of %s", len(starved), prose.Count(len(j.hands), "pod"))
}

func (j *sharesLoad) praised() string {
	if j.promise.Together {
		return "the new pods together"
	}
	return "each of " + prose.Count(len(j.hands), "pod")
}

// support lists each pod's share over time, the smallest first.
func (j *sharesLoad) support(v *verdict.Verdict, total uint64) {
	told := len(j.hands)
	if told >= verdict.MaxEvidence {
		told = verdict.MaxEvidence - 1
	}
	for _, h := range j.hands[:told] {
		v.Support(j.line(h, total))
	}
	if rest := j.hands[told:]; len(rest) > 0 {
		v.Support(fmt.Sprintf("%s more, with %s to %s", prose.Count(len(rest), "pod"), shareText(j.share(rest[:1], total)),
			shareText(j.share(rest[len(rest)-1:], total))))
	}
}

// line is "backend-1 on w1, new at 21s: 0 until 31s, then 0.91, 1.1, 0.97, 1.2; 1.04 in all, 33 connections".
func (j *sharesLoad) line(h *hand, total uint64) string {
	var early uint64
	var parts [shareParts]uint64
	for _, other := range j.hands {
		early += other.early
		for i, n := range other.parts {
			parts[i] += n
		}
	}
	share := func(n, of uint64) string {
		return shareText(float64(n) / float64(max(1, of)) * float64(len(j.hands)))
	}
	var then []string
	for i, n := range h.parts {
		then = append(then, share(n, parts[i]))
	}
	text := h.name + " on " + h.node
	if h.isNew {
		text += ", new at " + prose.Moment(h.ready)
	}
	text += ": "
	if j.from > j.ready {
		text += share(h.early, early) + " until " + prose.Moment(j.from) + ", then "
	}
	return text + fmt.Sprintf("%s; %s in all, %s", strings.Join(then, ", "), share(h.requests(), total),
		prose.Count(h.connections, "connection"))
}

// shareText formats a share with two decimals.
func shareText(share float64) string { return fmt.Sprintf("%.2f", share) }
