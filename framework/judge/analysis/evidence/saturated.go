package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// The limits from which on a time counts as saturated. They come from records of calm machines, which must stay below them, and of slow ones.
const (
	// Follows is how long after a saturated time something may still come of it: as long as a client waits for an answer.
	Follows = 3 * time.Second
	// Standstill is how long a part of the harness must have been paused. In runs that held, beside compilers that used both cores, load
	// workers were paused for at most 176 ms.
	Standstill = 250 * time.Millisecond
	// stolen is the share of processor time that the hypervisor must have taken, and lateBeat the pause that must accompany it. On a machine
	// that always loses a share of its time, everything runs, only slower.
	stolen   = 0.25
	lateBeat = 100 * time.Millisecond
	// heldBack is the share of the time that nodes could have run in which a quota must have held them back, over heldFor. Of half of the
	// processors it is 50 % at most, and all that was planted was found.
	heldBack = 0.52
	// wanted is the share of all processors that nodes must have wanted meanwhile: what they used, and what the quota kept from them. With a third of
	// two processors, in 11 scenarios that held, they wanted 43 to 93 % in the middle and up to 99 % for some seconds; with a quarter 84 to
	// 98 % and with a sixth 99 % in the middle, and the load worker sent its requests in bursts.
	wanted  = 0.95
	heldFor = 3 * time.Second
	// idle is the share of used processor time below which a load worker that is late has been held back by something else than others' work.
	idle = 0.9
	// own is the share of what was used from which on the tested application has saturated the machine itself.
	own = 0.5
)

// levels say how large a share of a time some task must have waited for a processor, and processors must have been used. A task that its own
// CPU quota keeps from running counts as waiting, on a machine that may be idle.
//
// Measured on two cores: in 23 scenarios with nothing beside them a task waited at most 95 % of any three seconds; beside nine endless loops
// nearly always 98 %. On a slow machine, whose nodes answered nothing for 35 s, it was 96 %, with 99 to 100 % used.
//
// Source: https://docs.kernel.org/accounting/psi.html
var levels = []struct {
	over         time.Duration
	waited, used float64
}{
	{3 * time.Second, 0.97, 0.95},
	{10 * time.Second, 0.95, 0.98},
}

// BusyNumber counts, in a verdict, what a saturated machine explains: failures, slow answers, missed limits, and doubts about the load. OwnNumber counts those of a
// machine that the tested application has saturated itself, for which no second run is made.
const (
	BusyNumber = "explainedByBusyMachine"
	OwnNumber  = "explainedByTheApplication"
)

// Reason is why something says nothing of the workload; the zero Reason: it does say something.
type Reason struct {
	Words string // after "it", or "they"
	Again bool   // a second run may not meet it
	Own   bool   // the tested application has saturated the machine
}

// None reports whether there is no reason.
func (r Reason) None() bool { return r == Reason{} }

// Count counts in a verdict what a saturated machine explains.
func (r Reason) Count(v *verdict.Verdict, n uint64) {
	switch {
	case n == 0:
	case r.Own:
		v.Measure(OwnNumber, v.Numbers[OwnNumber]+float64(n))
	case r.Again:
		v.Measure(BusyNumber, v.Numbers[BusyNumber]+float64(n))
	}
}

// saturation is a time in which the machine of the nodes had no processor time left, or a part of the harness did not run, or a node was gone
// that no fault had taken. Whatever happened then, and what follows, says nothing of the workload, whatever a server said.
type saturation struct {
	from, to history.Offset // with what follows
	machine  bool           // the machine ran slower or not at all, so that limits of time stood still
	Reason
}

// saturate finds all saturated times, in order.
func (f *Run) saturate() {
	n := &f.Noise
	machine := f.Record.Header.Cluster.OneMachine()
	for who, samples := range n.samples {
		if machine && who != history.NoiseHarness {
			f.addBusy(samples)
			if !n.quotas {
				f.addHeldBack(samples)
			}
		}
		if machine && who == history.NoiseHarness {
			f.addQuotas(samples)
		}
		if machine || who != history.NoiseHarness {
			f.addPauses(samples)
		}
	}
	sortSaturated(n)
	f.addLosses()
	sortSaturated(n)
}

func sortSaturated(n *noise) {
	slices.SortFunc(n.saturated, func(a, b saturation) int {
		return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to), cmp.Compare(a.Words, b.Words))
	})
	n.reach = make([]history.Offset, len(n.saturated))
	for i, s := range n.saturated {
		n.reach[i] = s.to
		if i > 0 {
			n.reach[i] = max(s.to, n.reach[i-1])
		}
	}
}

// windows are the times, joined, that are made of windows of a length that end with a sample and for which is is true.
func windows(samples []history.Event, over time.Duration, is func(from, to history.Offset) bool) (list [][2]history.Offset) {
	for _, e := range samples {
		from := e.T - over
		if !is(from, e.T) {
			continue
		}
		if last := len(list) - 1; last >= 0 && from <= list[last][1] {
			list[last][1] = max(list[last][1], e.T)
			continue
		}
		list = append(list, [2]history.Offset{from, e.T})
	}
	return list
}

func (f *Run) addBusy(samples []history.Event) {
	waited := func(e *history.Event) float64 { return e.Noise.CPU }
	used := func(e *history.Event) float64 { return e.Noise.Used }
	for _, l := range levels {
		for _, at := range windows(samples, l.over, func(from, to history.Offset) bool {
			return average(samples, from, to, waited) >= l.waited && average(samples, from, to, used) >= l.used
		}) {
			ran := average(samples, at[0], at[1], used)
			f.addSlow(at, func(g *history.CPUGroups, n *history.Noise) float64 { return n.Used * float64(g.Processors) },
				fmt.Sprintf("may come from the busy machine: from %s to %s, a task waited for a processor of the machine that all nodes share %s of the time, and %s of its processor time was used",
					prose.Moment(at[0]), prose.Moment(at[1]), prose.Percent(average(samples, at[0], at[1], waited)), prose.Percent(ran)))
		}
	}
}

// addQuotas finds times in which the quota of a control group above the nodes held them back.
func (f *Run) addQuotas(samples []history.Event) {
	held := func(e *history.Event) float64 {
		q := quotaOf(e)
		if q.Held <= 0 {
			return 0
		}
		return float64(q.Held) / float64(q.Held+max(0, q.Used))
	}
	for _, at := range windows(samples, heldFor, func(from, to history.Offset) bool {
		return average(samples, from, to, held) >= heldBack && average(samples, from, to, wants) >= wanted
	}) {
		f.addSlow(at, func(g *history.CPUGroups, n *history.Noise) float64 {
			if g.Quota == nil {
				return 0
			}
			return g.Quota.Used.Seconds()
		}, fmt.Sprintf("may come from a CPU quota: from %s to %s, that of a control group above the nodes held them back for %s of the time that they could have run",
			prose.Moment(at[0]), prose.Moment(at[1]), prose.Percent(average(samples, at[0], at[1], held))))
	}
}

// quotaOf is the quota that held nodes back most during a sample.
func quotaOf(e *history.Event) (q history.CPUQuota) {
	if g := e.Noise.Groups; g != nil && g.Quota != nil {
		q = *g.Quota
	}
	return q
}

// wants is the share of all processors that nodes under a quota wanted during a sample; 1 if the quota is that of one node among several, which
// never wants all.
func wants(e *history.Event) float64 {
	q, g, sampled := quotaOf(e), e.Noise.Groups, (e.T - e.Noise.Since).Seconds()
	if g == nil || g.Processors == 0 || sampled <= 0 {
		return 0
	}
	all := 0.0
	for _, used := range []map[string]float64{g.Nodes, g.Pods} {
		for _, processors := range used {
			all += processors
		}
	}
	if q.Used.Seconds() < all*sampled/2 {
		return 1
	}
	return (q.Held + q.Used).Seconds() / (float64(g.Processors) * sampled)
}

// addHeldBack finds, where no quota above the nodes can be read, times in which one shows: a load worker was late on a machine with idle
// processors, while tasks waited for a processor, and no quota of its own held it back. The quota of another pod makes tasks wait, too, and no
// load worker late.
func (f *Run) addHeldBack(samples []history.Event) {
	for _, e := range samples {
		if n := e.Noise; n.CPU >= levels[0].waited && n.Used > 0 && n.Used < idle && n.Throttled == 0 && n.Pause >= lateBeat {
			f.addSlow([2]history.Offset{max(0, n.Since-n.Pause), e.T}, nil, fmt.Sprintf(
				"may come from a CPU quota above the nodes, of which the record has no samples: at %s, %s was paused for %s while %s of the machine's processor time was idle, and a task waited for a processor",
				prose.Moment(e.T), n.Of, prose.Moment(n.Pause), prose.Percent(1-n.Used)))
		}
	}
}

// addPauses finds times in which a part of the harness did not run, or the hypervisor ran other machines. No more follows from a pause than it
// lasted. A part that its own quota stopped is stopped again in a second run.
func (f *Run) addPauses(samples []history.Event) {
	for _, e := range samples {
		n, at := e.Noise, [2]history.Offset{max(0, e.Noise.Since-e.Noise.Pause), e.T} // it ended at some time of the sample
		words := "may be the harness's own noise: " + DescribeNoise(&e)
		switch {
		case n.Steal >= stolen && n.Pause >= lateBeat:
			f.addSlow(at, nil, words)
		case n.Pause >= Standstill:
			f.Noise.saturated = append(f.Noise.saturated, saturation{
				from: at[0], to: at[1] + min(n.Pause, Follows), Reason: Reason{Words: words, Again: n.Throttled == 0},
			})
		}
	}
}

// addSlow adds a time in which the machine was slow. Total is what was used of it, in processors, to compare with the application; nil: it
// is not known.
func (f *Run) addSlow(at [2]history.Offset, total func(*history.CPUGroups, *history.Noise) float64, words string) {
	why := Reason{Words: words, Again: true}
	if total != nil {
		if self := f.selfMade(at[0], at[1], total); self != "" {
			why = Reason{Words: "may come from the machine, which the tested application took for itself: " + self, Own: true}
		}
	}
	f.Noise.saturated = append(f.Noise.saturated, saturation{from: at[0], to: at[1] + Follows, machine: true, Reason: why})
}

// average is the mean of a value from 0 to 1 over a time, by the samples of one process. A time without samples counts as zero.
func average(samples []history.Event, from, to history.Offset, value func(*history.Event) float64) (mean float64) {
	if to <= from {
		return 0
	}
	first, _ := slices.BinarySearchFunc(samples, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	at := from
	for _, e := range samples[first:] {
		if e.Noise.Since >= to {
			break
		}
		if begin, end := max(at, e.Noise.Since), min(to, e.T); begin < end {
			mean += float64(end-begin) * min(value(&e), 1)
			at = end
		}
	}
	return mean / float64(to-from)
}

// Saturation is why what happened from a moment to another says nothing of the workload. What the application did to the machine comes before
// what others did.
func (f *Run) Saturation(from, to history.Offset) (why Reason) {
	if to < from {
		return why
	}
	f.overlapping(from, to, func(s *saturation) {
		if why.None() || s.Own && !why.Own || s.Again && !why.Again && !why.Own {
			why = s.Reason
		}
	})
	return why
}

func (f *Run) overlapping(from, to history.Offset, each func(*saturation)) {
	n := &f.Noise
	first, _ := slices.BinarySearch(n.reach, from)
	for i := first; i < len(n.saturated) && n.saturated[i].from <= to; i++ {
		if n.saturated[i].to >= from {
			each(&n.saturated[i])
		}
	}
}

// Slowed is for how long the machine was slow from a moment to another.
func (f *Run) Slowed(from, to history.Offset) (sum time.Duration, why Reason) {
	counted := from
	f.overlapping(from, to, func(s *saturation) {
		if begin, end := max(counted, s.from), min(to, s.to); s.machine && begin < end {
			sum, counted = sum+end-begin, end
			if why.None() || s.Own && !why.Own {
				why = s.Reason
			}
		}
	})
	return sum, why
}

// Excuse is why a failed request says nothing of the workload: the machine was saturated meanwhile, or nothing had been disturbed yet. A request
// with times that no clock has is never excused. A recording is also about the time in which nothing is disturbed.
func (f *Run) Excuse(r *history.Request) Reason {
	if why := f.Saturation(r.Sent, r.Done); !why.None() || r.Done < r.Sent || f.Record.Header.Recorded != nil {
		return why
	}
	if first := f.FirstFault(); !first.OK || r.Done < first.At-f.ClockError() {
		return Reason{Words: "came before anything was disturbed: the system was not well before"}
	}
	return Reason{}
}
