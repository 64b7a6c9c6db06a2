package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/prose"
	"github.com/holdfast-ha/holdfast/framework/stats"
)

const (
	// Standstill is how long a part of the harness must have stood still before what went wrong at that moment can be its own
	// doing. In runs that held, beside compilers that wanted both cores, load workers stood still for 176 ms at most; a request is
	// given up after a second without a connection, or three without an answer.
	Standstill = 250 * time.Millisecond
	// stolen is the share of a machine's processor time that has to be given to others by a hypervisor to count as well.
	stolen = 0.25
	// lateBeat is the pause that shows that what was given to others was missed. On a machine that always gives away a share,
	// everybody runs, only slower.
	lateBeat = 100 * time.Millisecond
	// restless is how long before a node is seen as lost its kubelet may have been kept from saying that it is alive, beyond the time
	// that the node controller waits for that.
	restless = 5 * time.Second
)

// loud tells whether a sample of noise can explain that something went wrong. That something waits for a processor (PSI) can
// not: on two cores something does so nine seconds of ten in runs in which nothing is late.
func loud(n *history.Noise) bool {
	return n.Pause >= Standstill || n.Throttled >= Standstill || n.Steal >= stolen && n.Pause >= lateBeat
}

// noise is what the harness's parts heard of themselves.
type noise struct {
	Of      map[string][]history.Event // loud samples, in order; by who took them
	unasked []history.NodeLoss         // of nodes that no fault had touched, while somebody was loud
	// Which of those had pods on them, as far as that was asked.
	inhabited map[*history.NodeLoss]bool
	Took      map[history.Lane]*stats.Durations // how long good answers took, before any fault
	Watches   time.Duration                     // by how much the watches were late at the worst; zero in a record that does not tell
	pauses    []history.Event                   // of the harness, in order
	echoes    []history.Event                   // that came back
}

// hear takes the noise from the record. That the watches were later than the skew that promises reckon with counts as a gap.
func (f *Run) hear() {
	f.Noise.Of, f.Noise.Took = make(map[string][]history.Event), make(map[history.Lane]*stats.Durations)
	f.Noise.inhabited = make(map[*history.NodeLoss]bool)
	for _, e := range f.Record.Events {
		if e.Noise != nil {
			f.pause(e)
			if loud(e.Noise) {
				f.Noise.Of[e.Noise.Of] = append(f.Noise.Of[e.Noise.Of], e)
			}
		}
		if e.Echo == nil || e.Echo.Error != "" {
			continue
		}
		f.Noise.echoes = append(f.Noise.echoes, e)
		f.Noise.Watches = max(f.Noise.Watches, e.T-e.Echo.Sent)
		if e.T-e.Echo.Sent > WatchSkew {
			f.Gaps = append(f.Gaps, history.Event{T: e.T, Gap: &history.Gap{
				What: "all objects", Since: e.Echo.Sent, Why: "a change took " + prose.Moment(e.T-e.Echo.Sent) + " to arrive",
				Bridged: f.onTheWay(e),
			}})
		}
	}
	grace := f.Record.Header.Cluster.Timings.NodeMonitorGrace + restless
	for _, loss := range f.Record.NodeLosses(f.Begin(), f.End()) {
		if !f.asked(loss) && f.Loudest(loss.At-grace, loss.At) != nil {
			f.Noise.unasked = append(f.Noise.unasked, loss)
		}
	}
}

// onTheWay tells whether an echo was late for another reason than that a watch fell behind: the API server was slow to take
// the change, or the watch had broken off, which was noticed, and was taken up again.
func (f *Run) onTheWay(e history.Event) bool {
	return e.T-e.Echo.Sent-e.Echo.Taken <= WatchSkew || slices.ContainsFunc(f.Record.Events, func(gap history.Event) bool {
		return gap.Gap != nil && gap.Gap.Bridged && gap.Gap.What == "leases" && gap.Gap.Since <= e.T && e.Echo.Sent <= gap.T
	})
}

// during is the loudest sample of who, or nil, that overlaps a time.
func (n *noise) during(who string, from, to history.Offset) (worst *history.Event) {
	samples := n.Of[who]
	first, _ := slices.BinarySearchFunc(samples, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for i := first; i < len(samples) && samples[i].Noise.Since <= to; i++ {
		if worst == nil || samples[i].Noise.Pause > worst.Noise.Pause {
			worst = &samples[i]
		}
	}
	return worst
}

// Loudest is the loudest sample of all.
func (f *Run) Loudest(from, to history.Offset) (worst *history.Event) {
	for who := range f.Noise.Of {
		if e := f.Noise.during(who, from, to); e != nil && (worst == nil || Louder(e, worst)) {
			worst = e
		}
	}
	return worst
}

// Louder orders samples, the same way each time.
func Louder(a, b *history.Event) bool {
	return cmp.Or(cmp.Compare(a.Noise.Pause, b.Noise.Pause), cmp.Compare(b.Noise.Of, a.Noise.Of)) > 0
}

// InWords says what a sample heard.
func InWords(e *history.Event) string {
	n := e.Noise
	text := fmt.Sprintf("%s stood still for %s", n.Of, prose.Moment(n.Pause))
	if n.Throttled > 0 {
		text += ", kept by its quota from running for " + prose.Moment(n.Throttled)
	}
	if n.Steal > 0 {
		text += fmt.Sprintf(", with %s of its processors given to others", prose.Percent(n.Steal))
	}
	if n.Throttled > 0 || n.Steal > 0 {
		text += ","
	}
	return fmt.Sprintf("%s within the second before %s", text, prose.Moment(e.T))
}
