package evidence

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// noise is what the parts of the harness recorded about themselves.
type noise struct {
	Of        map[string][]history.Event // samples of parts that did not run for a while, or that their quota stopped, in order, by the part
	Watches   time.Duration              // the largest delay of the watches; zero in a record without echoes
	samples   map[string][]history.Event // all of them
	quotas    bool                       // the quotas above the nodes were read
	saturated []saturation
	reach     []history.Offset // for each of saturated, until when it or an earlier one lasts
	unasked   []unasked
	pauses    []history.Event // of the harness, in order
	echoes    []history.Event // the harness's own changes that the watch delivered
}

// Lateness is how much later than it happened the record may show a change: twice the largest measured delay, because the delay is
// measured once a second, and at most WatchSkew, beyond which a delay is a gap. In a record without measurements it is WatchSkew.
func (n *noise) Lateness() history.Offset {
	if len(n.echoes) == 0 {
		return WatchSkew
	}
	return min(WatchSkew, 2*n.Watches)
}

// hear reads the noise from the record. A delay of the watches beyond WatchSkew counts as a gap.
func (f *Run) hear() {
	f.Noise.Of, f.Noise.samples = make(map[string][]history.Event), make(map[string][]history.Event)
	for _, e := range f.Record.Events {
		if n := e.Noise; n != nil {
			f.pause(e)
			f.Noise.samples[n.Of] = append(f.Noise.samples[n.Of], e)
			f.Noise.quotas = f.Noise.quotas || n.Groups != nil && n.Groups.Unknown == ""
			if n.Pause >= Standstill || n.Throttled >= Standstill || n.Steal >= stolen && n.Pause >= lateBeat {
				f.Noise.Of[n.Of] = append(f.Noise.Of[n.Of], e)
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
	f.saturate()
}

// onTheWay says whether an echo was late although no watch fell behind: the API server was slow to accept the change, or the watch
// had broken off and was resumed.
func (f *Run) onTheWay(e history.Event) bool {
	return e.T-e.Echo.Sent-e.Echo.Taken <= WatchSkew || slices.ContainsFunc(f.Record.Events, func(gap history.Event) bool {
		return gap.Gap != nil && gap.Gap.Bridged && gap.Gap.What == "leases" && gap.Gap.Since <= e.T && e.Echo.Sent <= gap.T
	})
}

// during is the sample of a part with the longest pause that overlaps a time; nil: none does.
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

// WorstPause is the sample with the longest pause, of any part, that overlaps a time; nil: none does.
func (f *Run) WorstPause(from, to history.Offset) (worst *history.Event) {
	for who := range f.Noise.Of {
		if e := f.Noise.during(who, from, to); e != nil && (worst == nil || LongerPause(e, worst)) {
			worst = e
		}
	}
	return worst
}

// LongerPause orders samples by their pauses, and equal ones by name.
func LongerPause(a, b *history.Event) bool {
	return cmp.Or(cmp.Compare(a.Noise.Pause, b.Noise.Pause), cmp.Compare(b.Noise.Of, a.Noise.Of)) > 0
}

// DescribeNoise describes a sample of noise.
func DescribeNoise(e *history.Event) string {
	n := e.Noise
	text := fmt.Sprintf("%s stood still for %s", n.Of, prose.Moment(n.Pause))
	if n.Throttled > 0 {
		text += ", throttled by its CPU quota for " + prose.Moment(n.Throttled)
	}
	if n.Steal > 0 {
		text += fmt.Sprintf(", with %s of its processor time stolen by the hypervisor", prose.Percent(n.Steal))
	}
	if n.Throttled > 0 || n.Steal > 0 {
		text += ","
	}
	return fmt.Sprintf("%s within the second before %s", text, prose.Moment(e.T))
}
