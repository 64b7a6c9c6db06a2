package invariant

import (
	"fmt"
	"strings"
)

// numbers measures the shares. The hands are sorted.
func (j *sharesLoad) numbers(v *Verdict, total uint64, enough int) {
	v.measure("pods", float64(len(j.hands)))
	v.measure("newPods", float64(j.fresh()))
	v.measure("connections", float64(len(j.dealt)))
	v.measure("connectionsNeeded", float64(enough))
	v.measure("requests", float64(total))
	v.measure("windowSeconds", (j.to - j.from).Seconds())
	v.measure("smallestShare", j.share(j.hands[:1], total))
	v.measure("largestShare", j.share(j.hands[len(j.hands)-1:], total))
	v.measure("newPodsShare", j.share(j.newcomers(), total))
}

// load says what was shared: "12000 requests on reused (120 connections) from 31s to 51s; 7 of 10 pods were new".
func (j *sharesLoad) load(total uint64) string {
	return fmt.Sprintf("%s on %s (%s) from %s to %s; %d of %s were new, the last of them ready at %s", count(total, "request"),
		j.promise.lane(), count(len(j.dealt), "connection"), moment(j.from), moment(j.to), j.fresh(), count(len(j.hands), "pod"),
		moment(j.ready))
}

func (j *sharesLoad) accused(starved []*hand) string {
	if j.promise.Together {
		return "the new pods together"
	}
	return fmt.Sprintf("%d of %s", len(starved), count(len(j.hands), "pod"))
}

func (j *sharesLoad) praised() string {
	if j.promise.Together {
		return "the new pods together"
	}
	return "each of " + count(len(j.hands), "pod")
}

// support tells each pod's share in the course of time, those that got least first.
func (j *sharesLoad) support(v *Verdict, total uint64) {
	told := len(j.hands)
	if told >= MaxEvidence {
		told = MaxEvidence - 1
	}
	for _, h := range j.hands[:told] {
		v.support(j.line(h, total))
	}
	if rest := j.hands[told:]; len(rest) > 0 {
		v.support(fmt.Sprintf("%s more, with %s to %s", count(len(rest), "pod"), shareText(j.share(rest[:1], total)),
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
		text += ", new at " + moment(h.ready)
	}
	text += ": "
	if j.from > j.ready {
		text += share(h.early, early) + " until " + moment(j.from) + ", then "
	}
	return text + fmt.Sprintf("%s; %s in all, %s", strings.Join(then, ", "), share(h.requests(), total),
		count(h.connections, "connection"))
}

// shareText writes a share with two decimals.
func shareText(share float64) string { return fmt.Sprintf("%.2f", share) }
