package attribution

import (
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// followsWithin is how long before its pods became unready something may have gone that all of them ask: probes ask every ten seconds
// by default, and three of them must fail.
const followsWithin = time.Minute

// withdrew attributes a failure at a time when some Services had no ready endpoint because their pods, which ran, had become unready.
// Proxies follow the endpoints later, when pods withdraw and when they return.
func (s *Timelines) withdrew(services []string, at history.Offset) (Attribution, bool) {
	for _, when := range []history.Offset{at, at + evidence.WatchSkew, at - proxyUsual} {
		if list := s.unready(services, when); len(list) > 0 {
			a := attribution(CauseOutageUnready, ConfidenceAll, list)
			a.Story = s.sharedStory(services, list, when)
			return a, true
		}
	}
	return Attribution{}, false
}

// unready are the pods that were ready before, run, and are not ready, while no pod of the Services is an endpoint. None: there is an
// endpoint, or at least as many pods restart or are on lost nodes.
func (s *Timelines) unready(services []string, at history.Offset) (list []trouble) {
	others := 0
	for _, service := range services {
		for _, l := range s.Sorted(service) {
			if e, _ := l.Endpoints[service].At(at); e.Ready {
				return nil
			}
			seen, ok := l.Reports.At(at)
			if !ok || seen.Phase != "Running" || timeline.Terminating(seen) || seen.Ready || !l.Ready.OK || l.Ready.At > at {
				continue
			}
			if lost, _ := s.nodeLost(l, at); lost || l.downAt(at) {
				others++
				continue
			}
			list = append(list, trouble{pod: l, cause: CauseOutageUnready, phase: PhaseUnready, sure: true})
		}
	}
	if others >= len(list) {
		return nil
	}
	return list
}

// sharedStory is since when the pods of some Services are unready, and which pod of others had gone before.
func (s *Timelines) sharedStory(services []string, list []trouble, at history.Offset) string {
	since := evidence.Never
	for _, t := range list {
		since = min(since, t.pod.unreadySince(at))
	}
	text := fmt.Sprintf("%s of %s became unready from %s on", prose.Count(len(list), "pod"), prose.List(services), prose.Moment(since))
	ended := s.objects.Terminations(max(since-followsWithin, 0), since+1)
	for _, p := range slices.Backward(ended) {
		theirs := slices.ContainsFunc(services, func(service string) bool { return len(p.Endpoints[service]) > 0 })
		if !theirs {
			return fmt.Sprintf("%s, %s after pod %s began to end", text, prose.Moment(since-p.EndBegan()), p.Name)
		}
	}
	return text
}

// unreadySince is when a pod that is not ready at a moment became so.
func (l *PodTimeline) unreadySince(at history.Offset) (since history.Offset) {
	ready := false
	for _, report := range l.Reports {
		if report.At > at {
			break
		}
		if ready && !report.Value.Ready {
			since = report.At
		}
		ready = report.Value.Ready
	}
	return since
}
