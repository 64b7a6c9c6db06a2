package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// standstill is how long a part of the harness must have stood still before what went wrong at that moment can be its own
	// doing. In runs that held, beside compilers that wanted both cores, load workers stood still for 176 ms at most; a request is
	// given up after a second without a connection, or three without an answer.
	standstill = 250 * time.Millisecond
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
	return n.Pause >= standstill || n.Throttled >= standstill || n.Steal >= stolen && n.Pause >= lateBeat
}

// noise is what the harness's parts heard of themselves.
type noise struct {
	of      map[string][]history.Event // loud samples, in order; by who took them
	unasked []history.NodeLoss         // of nodes that no fault had touched, while somebody was loud
	// Which of those had pods on them, as far as that was asked.
	inhabited map[*history.NodeLoss]bool
	took      map[history.Lane]*durations // how long good answers took, before any fault
	watches   time.Duration               // by how much the watches were late at the worst; zero in a record that does not tell
	pauses    []history.Event             // of the harness, in order
	echoes    []history.Event             // that came back
}

// hear takes the noise from the record. That the watches were later than the skew that promises reckon with counts as a gap.
func (f *facts) hear() {
	f.noise.of, f.noise.took = make(map[string][]history.Event), make(map[history.Lane]*durations)
	f.noise.inhabited = make(map[*history.NodeLoss]bool)
	for _, e := range f.run.Events {
		if e.Noise != nil {
			f.pause(e)
			if loud(e.Noise) {
				f.noise.of[e.Noise.Of] = append(f.noise.of[e.Noise.Of], e)
			}
		}
		if e.Echo == nil || e.Echo.Error != "" {
			continue
		}
		f.noise.echoes = append(f.noise.echoes, e)
		f.noise.watches = max(f.noise.watches, e.T-e.Echo.Sent)
		if e.T-e.Echo.Sent > watchSkew {
			f.gaps = append(f.gaps, history.Event{T: e.T, Gap: &history.Gap{
				What: "all objects", Since: e.Echo.Sent, Why: "a change took " + moment(e.T-e.Echo.Sent) + " to arrive",
				Bridged: f.onTheWay(e),
			}})
		}
	}
	grace := f.run.Header.Cluster.Timings.NodeMonitorGrace + restless
	for _, loss := range f.run.NodeLosses(f.begin(), f.end()) {
		if !f.asked(loss) && f.loudest(loss.At-grace, loss.At) != nil {
			f.noise.unasked = append(f.noise.unasked, loss)
		}
	}
}

// onTheWay tells whether an echo was late for another reason than that a watch fell behind: the API server was slow to take
// the change, or the watch had broken off, which was noticed, and was taken up again.
func (f *facts) onTheWay(e history.Event) bool {
	return e.T-e.Echo.Sent-e.Echo.Taken <= watchSkew || slices.ContainsFunc(f.run.Events, func(gap history.Event) bool {
		return gap.Gap != nil && gap.Gap.Bridged && gap.Gap.What == "leases" && gap.Gap.Since <= e.T && e.Echo.Sent <= gap.T
	})
}

// during is the loudest sample of who, or nil, that overlaps a time.
func (n *noise) during(who string, from, to history.Offset) (worst *history.Event) {
	samples := n.of[who]
	first, _ := slices.BinarySearchFunc(samples, from, func(e history.Event, at history.Offset) int { return cmp.Compare(e.T, at) })
	for i := first; i < len(samples) && samples[i].Noise.Since <= to; i++ {
		if worst == nil || samples[i].Noise.Pause > worst.Noise.Pause {
			worst = &samples[i]
		}
	}
	return worst
}

// loudest is the loudest sample of all.
func (f *facts) loudest(from, to history.Offset) (worst *history.Event) {
	for who := range f.noise.of {
		if e := f.noise.during(who, from, to); e != nil && (worst == nil || louder(e, worst)) {
			worst = e
		}
	}
	return worst
}

// louder orders samples, the same way each time.
func louder(a, b *history.Event) bool {
	return cmp.Or(cmp.Compare(a.Noise.Pause, b.Noise.Pause), cmp.Compare(b.Noise.Of, a.Noise.Of)) > 0
}

// inWords says what a sample heard.
func inWords(e *history.Event) string {
	n := e.Noise
	text := fmt.Sprintf("%s stood still for %s", n.Of, moment(n.Pause))
	if n.Throttled > 0 {
		text += ", kept by its quota from running for " + moment(n.Throttled)
	}
	if n.Steal > 0 {
		text += fmt.Sprintf(", with %s of its processors given to others", percent(n.Steal))
	}
	if n.Throttled > 0 || n.Steal > 0 {
		text += ","
	}
	return fmt.Sprintf("%s within the second before %s", text, moment(e.T))
}
