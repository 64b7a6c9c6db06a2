package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Resumes promises of a component of the control plane that is away: what needs it stalls, and goes on once it is back. From
// when the fault was seen until its undo began no pod of the workload came to be ready that was not ready before; and within a
// limit of that moment the workload had more ready replicas than it had been asked for when the fault began, and had settled.
//
// Evidence: a fault that was seen; that there was something to stall, which is either that the workload was asked for more
// replicas than it had when the undo began, or that no change which the harness itself asked for came back to it from a second
// after the fault was seen until then. Changes must have come back before the fault was seen and after its undo, or the harness
// was deaf; and in the meantime some must have failed, where the record has those that do.
type Resumes struct {
	Limit time.Duration `json:"limit"`
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
}

func (p Resumes) String() string {
	return fmt.Sprintf("what was asked of %s stalls while a fault is in force, and is done within %s of the beginning of its undo",
		cmp.Or(p.Workload, "the workload"), p.Limit)
}

func (p Resumes) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.inOrder(f.steady()), f.faultsBit(true), missing)
	seen, undo, ok := f.inForce()
	if !ok || len(missing) > 0 { // what was never seen, faultsBit has told
		return Verdict{}.unknown(d)
	}
	s := followStall(f, key, seen, undo)
	v := Verdict{}
	v.measure("limitSeconds", p.Limit.Seconds())
	v.measure("stalledSeconds", (undo - seen).Seconds())
	v.measure("readyMeanwhile", float64(len(s.through)))
	switch {
	case len(s.through) > 0 && f.toldLate(seen):
		d.add("when %s came to be ready is not known: a watch was late", s.through[0])
	case len(s.through) > 0:
		v.At = s.first
		v.support(s.through...)
		return v.violated(d, "%s came to be ready while the fault was in force, from %s to %s: %s", count(len(s.through), "pod"),
			moment(seen), moment(undo), s.through[0])
	case s.asked <= s.had && s.echoes > 0:
		d.add("nothing could stall: %s was asked for %s, as before, and changes were made all the while", key.Name, count(s.had, "replica"))
	case s.asked <= s.had && (s.echoesBefore == 0 || s.echoesAfter == 0):
		d.add("whether anything could stall is not known: %s was asked for %s, as before, and of the harness's own changes %d came back before the fault and %d after its undo",
			key.Name, count(s.had, "replica"), s.echoesBefore, s.echoesAfter)
	case s.asked <= s.had && s.failed == 0 && f.run.Header.Samples >= history.SamplesOfItself:
		d.add("whether anything could stall is not known: %s was asked for %s, as before, and no change of the harness's own failed", key.Name, count(s.had, "replica"))
	}
	if len(s.unclear) > 0 {
		d.add("%s just after the undo began, as far as was told: the harness may have dated that late", s.unclear[0])
	}
	return p.resumed(f, v, d, key.Name, s)
}

func (p Resumes) resumed(f *facts, v Verdict, d doubts, name string, s stall) Verdict {
	what := fmt.Sprintf("%s, which had %s,", name, count(s.had, "replica"))
	if !s.done.OK {
		watched := f.end() - s.undo
		v.measure("watchedSeconds", watched.Seconds())
		if watched < p.Limit || f.unseen(s.undo+p.Limit, f.end()) {
			d.add("%s had no more of them when the watching ended, %s after the undo began: %s", what, moment(watched), s.saw)
			return v.unknown(append(d, f.late(f.steady())...))
		}
		if unsure := f.orInTime(s.undo, f.end(), p.Limit); len(unsure) > 0 {
			return v.unknown(append(d, unsure...))
		}
		v.At = s.undo + p.Limit
		return v.violated(d, "%s had no more of them %s after the undo began at %s: %s", what, moment(watched), moment(s.undo), s.saw)
	}
	took := s.done.At - s.undo
	v.measure("resumedSeconds", took.Seconds())
	v.support(fmt.Sprintf("the undo began at %s; at %s: %s", moment(s.undo), moment(s.done.At), s.saw))
	if took > p.Limit {
		if f.unseen(s.undo+p.Limit, s.done.At) {
			return v.unknown(append(d, f.late(f.steady())...))
		}
		if unsure := f.orInTime(s.undo, s.done.At, p.Limit); len(unsure) > 0 {
			return v.unknown(append(d, unsure...))
		}
		v.At = s.undo + p.Limit
		return v.violated(d, "%s had %s after the undo began at %s what it was asked for, and %s was the limit: %s",
			what, moment(took), moment(s.undo), p.Limit, s.saw)
	}
	return v.held(d, "%s stalled for %s and had what it was asked for %s after the undo began at %s: %s",
		what, moment(s.undo-s.seen), moment(took), moment(s.undo), s.saw)
}

// stall is how a workload stood still and went on.
type stall struct {
	seen, undo history.Offset
	had, asked int            // replicas wanted when the fault was seen, and when its undo began
	through    []string       // pods that came to be ready in spite of it
	unclear    []string       // pods that may have: a watch told of them just after the undo began
	first      history.Offset // when the first of them did
	echoes     int            // changes of the harness's own that came back meanwhile
	failed     int            // changes of the harness's own that failed meanwhile

	echoesBefore, echoesAfter int // that came back before the fault was seen, and after its undo had begun

	done history.Moment // when it had settled with more than it had
	saw  string
}

func followStall(f *facts, key history.Key, seen, undo history.Offset) stall {
	s := stall{seen: seen, undo: undo, saw: "nothing"}
	ready, final := make(map[string]bool), false // by UID
	moments(f.run, func(at history.Offset, now *history.State) {
		w, known := now.Workloads[key]
		switch {
		case !known || at >= f.end():
			return
		case at <= seen:
			s.had = w.Replicas
		}
		if at < undo {
			s.asked = w.Replicas
		}
		for _, pod := range livePods(now, w) {
			if !pod.Ready || ready[pod.UID] {
				continue
			}
			if ready[pod.UID] = true; at >= undo && at-f.lateBy(at) < undo {
				s.unclear = append(s.unclear, pod.Name+" came to be ready")
			} else if at > seen+watchSkew && at < undo {
				if s.through = append(s.through, fmt.Sprintf("%s on %s at %s", pod.Name, pod.Node, moment(at))); len(s.through) == 1 {
					s.first = at
				}
			}
		}
		if final {
			return
		}
		var done bool
		done, s.saw = recoveredNow(now, key)
		s.done = history.Moment{At: max(at, undo), OK: done && w.Replicas > s.had && at > seen}
		final = s.done.OK && at >= undo
	})
	s.hear(f)
	return s
}

// hear counts what became of the harness's own changes.
func (s *stall) hear(f *facts) {
	for _, e := range f.run.Events {
		switch {
		case e.Echo == nil:
		case e.Echo.Error != "":
			if e.T > s.seen && e.Echo.Sent < s.undo {
				s.failed++
			}
		case e.T < s.seen:
			s.echoesBefore++
		case e.Echo.Sent > s.undo:
			s.echoesAfter++
		case e.Echo.Sent > s.seen+watchSkew && e.T < s.undo:
			s.echoes++
		}
	}
}
