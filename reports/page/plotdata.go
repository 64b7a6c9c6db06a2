package page

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/reports"
)

// plotData is what the page's script needs to describe a moment. Names are short and times are whole milliseconds or microseconds, because
// a page has tens of thousands of them.
type plotData struct {
	From   int64        `json:"from"` // ms, as are all moments
	To     int64        `json:"to"`
	Width  int64        `json:"width"` // of a bucket
	Phases []plotSpan   `json:"phases"`
	Faults []plotStages `json:"faults"`
	Pods   []plotPod    `json:"pods"`
	Lanes  []plotLane   `json:"lanes"`
}

type plotSpan struct {
	Name string `json:"n"`
	From int64  `json:"f"`
	To   int64  `json:"t"`
}

type plotStages struct {
	Name  string     `json:"n"`
	Spans []plotSpan `json:"s"`
}

type plotPod struct {
	Workload string     `json:"w"`
	Spans    []plotSpan `json:"s"`
}

// plotLane has an entry for each bucket; Failed and Unsent have only those that are not zero.
type plotLane struct {
	Name   string         `json:"n"`
	OK     []uint32       `json:"ok"`
	Failed map[int]uint32 `json:"bad"`
	Unsent map[int]uint32 `json:"un"`
	P50    []int64        `json:"p50"` // µs
	P99    []int64        `json:"p99"`
	Max    []int64        `json:"max"`
}

func newPlotData(s *reports.Scenario) plotData {
	d := plotData{
		From: s.From.Milliseconds(), To: s.To.Milliseconds(), Width: s.BucketWidth.Milliseconds(), Phases: []plotSpan{},
		Faults: []plotStages{}, Pods: []plotPod{}, Lanes: []plotLane{},
	}
	for _, p := range s.Phases {
		d.Phases = append(d.Phases, newPlotSpan(string(p.Name), time.Duration(p.From), time.Duration(p.To)))
	}
	for i := range s.Faults {
		d.Faults = append(d.Faults, plotFault(&s.Faults[i], s.To))
	}
	for i := range s.Zones {
		for j := range s.Zones[i].Nodes {
			for _, p := range s.Zones[i].Nodes[j].Pods {
				d.Pods = append(d.Pods, newPlotPod(p))
			}
		}
	}
	for i := range s.Lanes {
		if l := &s.Lanes[i]; len(l.Buckets) > 0 {
			d.Lanes = append(d.Lanes, newPlotLane(l))
		}
	}
	return d
}

func newPlotSpan(name string, from, to history.Offset) plotSpan {
	return plotSpan{Name: name, From: from.Milliseconds(), To: to.Milliseconds()}
}

func plotFault(f *reports.Fault, end history.Offset) plotStages {
	p := plotStages{Name: f.Name, Spans: []plotSpan{}}
	for _, a := range activities(f, end) {
		p.Spans = append(p.Spans, newPlotSpan(a.words, a.from, a.to))
	}
	return p
}

func newPlotPod(p reports.Pod) plotPod {
	out := plotPod{Workload: p.Workload}
	for _, s := range p.Spans {
		out.Spans = append(out.Spans, newPlotSpan(string(s.State), s.From, s.To))
	}
	return out
}

func newPlotLane(l *reports.Lane) plotLane {
	out := plotLane{Name: string(l.Name), Failed: map[int]uint32{}, Unsent: map[int]uint32{}}
	us := func(d time.Duration) int64 { return d.Microseconds() }
	for i, b := range l.Buckets {
		out.OK = append(out.OK, b.OK)
		out.P50, out.P99, out.Max = append(out.P50, us(b.P50)), append(out.P99, us(b.P99)), append(out.Max, us(b.Max))
		if b.Failed > 0 {
			out.Failed[i] = b.Failed
		}
		if b.Unsent > 0 {
			out.Unsent[i] = b.Unsent
		}
	}
	return out
}

// strip is the small timeline of the overview: the times of faults and of failed requests.
type strip struct {
	Windows, Failing []band
	Words            string
}

func newStrip(s *reports.Scenario) strip {
	if s.To <= s.From {
		return strip{Words: "no record"}
	}
	at := scale{s.From, s.To}
	st := strip{Windows: windows(at, s.Faults), Failing: failing(at, s)}
	var parts []string
	for i := range s.Faults {
		parts = append(parts, fmt.Sprintf("%s from %s", s.Faults[i].Name, prose.Moment(s.Faults[i].Began())))
	}
	if len(st.Failing) > 0 {
		parts = append(parts, "requests failed in "+prose.Counted(uint64(len(st.Failing)), "interval"))
	}
	st.Words = strings.Join(parts, "; ")
	return st
}
