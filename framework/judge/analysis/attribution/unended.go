package attribution

import (
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
)

// unendedAfter is how long no request of a lane must have been answered well, to the end of the load, for an outage that has not ended: longer
// than proxies take to follow endpoints, and than most requests may take.
const unendedAfter = 5 * time.Second

// lately are the last good answer and the last failure of a lane, by when they were sent.
type lately struct{ good, failed history.Moment }

func (s *Timelines) see(r *history.Request) {
	if r.Sent < s.from || r.Sent > s.to { // of a damaged record
		return
	}
	last := s.lately[r.Lane]
	if last == nil {
		if len(s.lately) >= requests.MaxWorkers { // of a damaged record
			return
		}
		last = &lately{}
		s.lately[r.Lane] = last
	}
	switch {
	case r.Outcome == history.OK:
		last.good = history.Moment{At: max(last.good.At, r.Sent), OK: true}
	case r.Outcome.Failed():
		last.failed = history.Moment{At: max(last.failed.At, r.Sent), OK: true}
	}
}

// lastOf are the last good answer and the last failure of a lane.
func (s *Timelines) lastOf(lane history.Lane) lately {
	if last := s.lately[lane]; last != nil {
		return *last
	}
	return lately{}
}

// unended is since when every request of a lane has failed, to the end of the load; not OK: the last ones did not. If requests to the load
// worker itself were not answered either, nothing is known of the application.
func (s *Timelines) unended(lane history.Lane) history.Moment {
	last, control := s.lastOf(lane), s.lastOf(history.LaneControl)
	since := s.from
	if last.good.OK {
		since = last.good.At
	}
	alone := control.failed.OK && control.good.At < last.failed.At-evidence.LoadWindow
	return history.Moment{At: since, OK: last.failed.OK && last.failed.At-since >= unendedAfter && !alone}
}

// unendedAt attributes a failure in an outage that has not ended, if nothing else explains it.
func (s *Timelines) unendedAt(kind FailureGroup, at history.Offset, found Attribution) Attribution {
	since := s.unended(kind.Lane)
	if found.OfSystem() || !since.OK || at < since.At {
		return found
	}
	found.Cause, found.Confidence = CauseOutageUnended, ConfidenceAll
	found.Story = s.beganWith(s.servicesOf(kind.Lane), since.At)
	return found
}

// Unended says of some lanes since when every request has failed, with what that began, and that it had not ended; empty: it had.
func (s *Timelines) Unended(lanes []history.Lane) string {
	var since, until history.Offset
	var names []string
	for _, lane := range lanes {
		if from := s.unended(lane); from.OK {
			since, until = max(since, from.At), max(until, s.lastOf(lane).failed.At)
			names = append(names, string(lane))
		}
	}
	if len(names) == 0 {
		return ""
	}
	text := fmt.Sprintf("every request on %s has failed since %s", prose.List(names), prose.Moment(since))
	if began := s.beganWith(s.servicesOf(history.Lane(names[0])), since); began != "" {
		text += ", when " + began
	}
	return fmt.Sprintf("%s, and still did %s later", text, prose.Moment(until-since))
}

// beganWith is what happened last to the pods of some Services, just before a moment: "the last old pod of api ended". Empty: nothing that is known.
func (s *Timelines) beganWith(services []string, at history.Offset) string {
	var last *PodTimeline
	var when history.Offset
	for _, service := range services {
		for _, l := range s.Sorted(service) {
			end := evidence.Never
			for _, m := range []history.Moment{l.Ended, l.Gone} {
				if m.OK {
					end = min(end, m.At)
				}
			}
			if began := l.EndBegan(); end > at+evidence.WatchSkew {
				end = began // it was told to, and exists
			}
			if end <= at+evidence.WatchSkew && (last == nil || end > when) {
				last, when = l, end
			}
		}
	}
	switch {
	case last == nil || when < at-ProxyLag || s.facts.Blind(at):
		return ""
	case s.lastOld(last, services, at):
		return fmt.Sprintf("the last old pod of %s ended", prose.List(services))
	}
	return "pod " + last.Name + " ended"
}

// lastOld reports whether a pod that ended was the last one of its revision, while pods of another one exist.
func (s *Timelines) lastOld(last *PodTimeline, services []string, at history.Offset) bool {
	newer := false
	for _, service := range services {
		for _, l := range s.Sorted(service) {
			seen, ok := l.Reports.At(at + evidence.WatchSkew)
			if l == last || !ok || timeline.Terminating(seen) || seen.Ended() {
				continue
			}
			if l.Revision == last.Revision {
				return false
			}
			newer = true
		}
	}
	return newer
}
