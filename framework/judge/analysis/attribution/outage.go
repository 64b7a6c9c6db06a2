package attribution

import (
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
)

// Outage attributes a failure at a time when no pod could have answered, because all had ended or were unreachable. Pods that
// start or restart are no outage: they will answer.
func (s *Timelines) outage(services []string, at history.Offset, all []trouble) (Attribution, bool) {
	gone := slices.DeleteFunc(slices.Clone(all), func(t trouble) bool {
		return t.cause == CauseReadyTooEarly && !t.sure // so new that the proxies do not know it
	})
	if slices.ContainsFunc(gone, func(t trouble) bool { return outageBy(t) == "" }) {
		return Attribution{}, false
	}
	if len(gone) == 0 {
		gone = s.lastTaken(services, at)
	}
	if len(gone) == 0 {
		return Attribution{}, false
	}
	counts := make(map[Cause]int)
	for _, t := range gone {
		counts[outageBy(t)]++
	}
	best := mostOf(counts)
	a := attribution(best, ConfidenceAll, gone)
	a.Phase = gone[slices.IndexFunc(gone, func(t trouble) bool { return outageBy(t) == best })].phase
	return a, true
}

// outageBy is the cause of an outage of which a trouble is a part; empty if the trouble causes none.
func outageBy(t trouble) Cause {
	switch {
	case t.cause == CauseNodeLost:
		return CauseOutageNodeLost
	case t.cause == CausePressure:
		return CauseOutagePressure
	case t.ending() && t.pod.Disruption == "EvictionByEvictionAPI":
		return CauseOutageEviction
	case t.ending():
		return CauseOutageDeletion
	}
	return ""
}

// lastTaken are the pods that were the last ready endpoints, with what ended them.
func (s *Timelines) lastTaken(services []string, at history.Offset) (list []trouble) {
	var last history.Offset
	for _, service := range services {
		for _, l := range s.Sorted(service) {
			if w := l.Withdrawn(at + evidence.WatchSkew); w.OK && l.firstAnswer.OK {
				last = max(last, w.At)
			}
		}
	}
	for _, service := range services {
		for _, l := range s.Sorted(service) {
			w := l.Withdrawn(at + evidence.WatchSkew)
			if !w.OK || !l.firstAnswer.OK || w.At < last-ProxyLag {
				continue
			}
			if t, bad := s.troubleOf(l, at); bad && outageBy(t) != "" {
				list = append(list, t)
			}
		}
	}
	return list
}
