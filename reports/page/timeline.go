package page

import (
	"cmp"
	"fmt"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

// Heights in pixels. Positions on the time axis are in percent of the plot's width, so that one drawing fits a phone, a wide screen and
// paper, with letters of the same size.
const (
	phaseHeight   = 20
	flagHeight    = 17
	faultHeight   = 34
	zoneHeight    = 20
	nodeHeight    = 15
	podHeight     = 15
	podGap        = 2
	rateHeight    = 40
	failureHeight = 24
	latencyHeight = 52
	chartGap      = 22 // holds the chart's name
	axisHeight    = 22
)

// timeline is what the template draws of a scenario.
type timeline struct {
	Height, Bottom int // Bottom is where the axis is drawn
	Phases         []band
	Windows        []band // the faults, over the whole height
	Failing        []band // the times in which requests failed, over the whole height
	Blind          []band // at most one: the record lacks its end
	Flags          []verdictFlag
	FlagsY         int
	Faults         []faultRow
	Zones          []zoneRow
	Charts         []chart
	Ticks          []tick
	HasFailures    bool
	Generations    bool // pods of more than one template are shown
}

// band is a part of the time axis. X and W are percentages.
type band struct {
	X, W         string
	Class, Label string
}

// verdictFlag marks the moment that decided a verdict.
type verdictFlag struct {
	X, Class, Label string
	Left            bool // the label is on the left, because it does not fit on the right
}

type faultRow struct {
	Y      int
	Faults []faultBar
}

type faultBar struct {
	X, Label string
	Left     bool
	Parts    []band
	Marks    []stage
}

type stage struct {
	X, Class, Tip string
}

type zoneRow struct {
	Y     int
	Label string
	Nodes []nodeRow
}

type nodeRow struct {
	Y     int
	Label string
	Spans []band
	Pods  []podBar
}

type podBar struct {
	Y                int
	X, W, Label, Tip string
	LabelX           string // in percent of the bar: where the pod becomes ready, or at its beginning
	Class            string
	Parts            []band // X and W in percent of the pod's own bar
	from, to         history.Offset
}

type tick struct {
	X, Label string
	Minor    bool // left out on narrow screens
}

// scale turns moments into percentages of the axis.
type scale struct{ from, to history.Offset }

func (s scale) percent(t history.Offset) float64 {
	t = min(max(t, s.from), s.to)
	return float64(t-s.from) / float64(s.to-s.from) * 100
}

func (s scale) band(from, to history.Offset, class, label string) band {
	x := s.percent(from)
	return band{X: pct(x), W: pct(s.percent(to) - x), Class: class, Label: label}
}

// shows is whether a part of a time is on the axis.
func (s scale) shows(from, to history.Offset) bool { return to > s.from && from < s.to }

func pct(x float64) string { return prose.TrimZeros(strconv.FormatFloat(x, 'f', 3, 64)) + "%" }

// layout arranges a scenario from top to bottom on one time axis.
func layout(s *reports.Scenario) timeline {
	var t timeline
	if s.To <= s.From {
		return t
	}
	at := scale{s.From, s.To}
	if s.Incomplete != "" && at.shows(s.End, s.To) {
		t.Blind = append(t.Blind, at.band(s.End, s.To, "", "no events from here on"))
	}
	for _, p := range s.Phases {
		if from, to := time.Duration(p.From), time.Duration(p.To); at.shows(from, to) {
			t.Phases = append(t.Phases, at.band(from, to, "ph-"+string(p.Name), string(p.Name)))
		}
	}
	y := phaseHeight + 4
	t.FlagsY = y
	t.Flags = flags(at, s.Verdicts)
	if s.Result == reports.Interrupted {
		t.Flags = append(t.Flags, verdictFlag{X: pct(at.percent(s.End)), Class: class(s.Result), Label: "interrupted here", Left: true})
	}
	if len(t.Flags) > 0 {
		y += flagHeight
	}
	t.Windows = windows(at, s.Faults)
	t.Faults, y = faultRows(at, s.Faults, y)
	t.Zones, y = zoneRows(at, s.Zones, y)
	t.Charts, y = charts(at, s, y)
	t.Failing = failing(at, s)
	t.HasFailures = len(t.Failing) > 0
	t.Generations = slices.ContainsFunc(s.Zones, hasGenerations)
	t.Ticks = ticks(at)
	t.Bottom, t.Height = y, y+axisHeight
	return t
}

func hasGenerations(z reports.Zone) bool {
	return slices.ContainsFunc(z.Nodes, func(n reports.Node) bool {
		return slices.ContainsFunc(n.Pods, func(p reports.Pod) bool { return p.Generation > 0 })
	})
}

func flags(at scale, verdicts []reports.Verdict) []verdictFlag {
	var list []verdictFlag
	for i := range verdicts {
		v := &verdicts[i]
		moment := time.Duration(v.At)
		if v.Outcome == verdict.Held || moment <= 0 || !at.shows(moment, moment+1) {
			continue
		}
		x := at.percent(moment)
		list = append(list, verdictFlag{X: pct(x), Class: class(reports.ResultOfOutcome(v.Outcome)), Label: v.Kind, Left: x > 60})
	}
	return list
}

// windows are the times of the faults, drawn behind everything, so that readers see which failures coincide with them.
func windows(at scale, list []reports.Fault) []band {
	var bands []band
	for i := range list {
		bands = append(bands, faultParts(at, &list[i])...)
	}
	return bands
}

// faultParts are the times in which the fault was injected, active and reverted.
func faultParts(at scale, f *reports.Fault) (bands []band) {
	for _, a := range activities(f, at.to) {
		if at.shows(a.from, a.to) {
			bands = append(bands, at.band(a.from, a.to, a.class, f.Name))
		}
	}
	return bands
}

// activity is a part of the life of a fault.
type activity struct {
	from, to     history.Offset
	class, words string
}

// activities are the parts of the life of a fault. A fault without an end lasts to end.
func activities(f *reports.Fault, end history.Offset) (list []activity) {
	for _, a := range []struct {
		from, to     *reports.Seconds
		class, words string
	}{
		{f.Injecting, cmp.Or(f.Seen, f.Healing, f.Healed), "injecting", "being injected"},
		{f.Seen, cmp.Or(f.Healing, f.Healed), "biting", "active"},
		{f.Healing, f.Healed, "healing", "being reverted"},
	} {
		if a.from != nil {
			to := cmp.Or(a.to, new(reports.Seconds(end)))
			list = append(list, activity{time.Duration(*a.from), time.Duration(*to), a.class, a.words})
		}
	}
	return list
}

// faultRows puts faults that do not overlap, labels included, into one row.
func faultRows(at scale, list []reports.Fault, y int) ([]faultRow, int) {
	const perLetter = 0.75 // Percent of the axis, at the usual width
	var rows []faultRow
	var ends []float64
	for i := range list {
		f := &list[i]
		bar := newFaultBar(at, f)
		if bar.Parts == nil && bar.Marks == nil {
			continue
		}
		begin, end := at.percent(f.Began()), at.percent(f.Ended(at.to))
		text := float64(len(bar.Label)) * perLetter
		if bar.Left = begin > 55 && begin+text > 100; bar.Left {
			begin, bar.X = min(begin, end-text), pct(end)
		} else {
			end = max(end, begin+text)
		}
		row := slices.IndexFunc(ends, func(e float64) bool { return e < begin })
		if row < 0 {
			row = len(rows)
			rows, ends = append(rows, faultRow{Y: y}), append(ends, 0)
			y += faultHeight
		}
		rows[row].Faults, ends[row] = append(rows[row].Faults, bar), end
	}
	return rows, y
}

func newFaultBar(at scale, f *reports.Fault) faultBar {
	bar := faultBar{X: pct(at.percent(f.Began())), Label: f.Name, Parts: faultParts(at, f)}
	if len(f.Errors) > 0 {
		bar.Label += ": " + f.Errors[0]
	}
	for _, m := range []struct {
		moment *reports.Seconds
		stage  history.FaultStage
	}{
		{f.Injecting, history.Injecting}, {f.Seen, history.Seen}, {f.Healing, history.Healing}, {f.Healed, history.Healed},
	} {
		if m.moment == nil {
			continue
		}
		if t := time.Duration(*m.moment); at.shows(t, t+1) {
			tip := fmt.Sprintf("%s: %s at %s", f.Name, m.stage, prose.Moment(t))
			bar.Marks = append(bar.Marks, stage{X: pct(at.percent(t)), Class: string(m.stage), Tip: tip})
		}
	}
	return bar
}

// ticks are at most a dozen round moments.
func ticks(at scale) []tick {
	const most = 12
	step := time.Second
	for _, candidate := range []int{1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1800, 3600} {
		step = time.Duration(candidate) * time.Second
		if (at.to-at.from)/step <= most {
			break
		}
	}
	step = max(step, (at.to-at.from)/most)
	var list []tick
	for t := (at.from + step - 1) / step * step; t <= at.to; t += step {
		list = append(list, tick{X: pct(at.percent(t)), Label: tickLabel(t), Minor: (t/step)%2 == 1})
	}
	return list
}

// tickLabel is a moment in the shortest form: 50s, 1m10s, 2m.
func tickLabel(t history.Offset) string {
	label := strings.TrimSuffix(prose.Moment(t), "m0s")
	if label == prose.Moment(t) {
		return label
	}
	return label + "m"
}

// zoneRows lays out zones, their nodes and the pods on them.
func zoneRows(at scale, list []reports.Zone, y int) ([]zoneRow, int) {
	var rows []zoneRow
	prefix := nodePrefix(list)
	for i := range list {
		zone := zoneRow{Y: y, Label: zoneName(list[i].Name)}
		y += zoneHeight
		for j := range list[i].Nodes {
			var node nodeRow
			if node, y = newNodeRow(at, &list[i].Nodes[j], prefix, y); len(node.Pods) > 0 || list[i].Name != "" {
				zone.Nodes = append(zone.Nodes, node)
			}
		}
		if len(zone.Nodes) == 0 {
			y = zone.Y // nothing in this zone is on the axis
			continue
		}
		rows = append(rows, zone)
	}
	return rows, y
}

func zoneName(name string) string {
	if name == "" {
		return "no zone"
	}
	return "zone " + name
}

func nodeName(name string) string {
	if name == "" {
		return "not scheduled"
	}
	return name
}

// nodePrefix is the common prefix of the names of all nodes, up to a dash. It is the name of the cluster, which would take up the room
// in the labels of rows.
func nodePrefix(list []reports.Zone) string {
	prefix, first := "", true
	for i := range list {
		for j := range list[i].Nodes {
			name := list[i].Nodes[j].Name
			if name == "" {
				continue
			}
			if own := name[:strings.LastIndex(name, "-")+1]; first {
				prefix, first = own, false
			}
			for !strings.HasPrefix(name, prefix) {
				prefix = prefix[:strings.LastIndex(strings.TrimSuffix(prefix, "-"), "-")+1]
			}
		}
	}
	return prefix
}

func newNodeRow(at scale, n *reports.Node, prefix string, y int) (nodeRow, int) {
	row := nodeRow{Y: y, Label: nodeName(strings.TrimPrefix(n.Name, prefix))}
	for _, s := range n.Spans {
		if at.shows(s.From, s.To) {
			row.Spans = append(row.Spans, at.band(s.From, s.To, "nd-"+strings.ReplaceAll(string(s.State), " ", ""),
				string(s.State)))
		}
	}
	y += nodeHeight
	var free []history.Offset // the end of the last pod in each row
	for i := range n.Pods {
		bar := newPodBar(at, n, &n.Pods[i])
		if !at.shows(bar.from, bar.to) {
			continue
		}
		lane := 0
		for lane < len(free) && free[lane] > bar.from {
			lane++
		}
		if lane == len(free) {
			free = append(free, 0)
		}
		free[lane] = bar.to
		bar.Y = y + lane*(podHeight+podGap)
		row.Pods = append(row.Pods, bar)
	}
	return row, y + len(free)*(podHeight+podGap) + podGap
}

// newPodBar draws a pod from its first to its last moment. The parts are its states.
func newPodBar(at scale, n *reports.Node, p *reports.Pod) podBar {
	from, to := p.Spans[0].From, p.Spans[len(p.Spans)-1].To
	whole := at.band(from, to, "", "")
	bar := podBar{
		X: whole.X, W: whole.W, Label: podLabel(p), Tip: podTip(n, p), from: from, to: to,
		Class: fmt.Sprintf("g%d", p.Generation%2),
	}
	own := scale{max(from, at.from), min(to, at.to)}
	if own.to <= own.from {
		return bar
	}
	bar.LabelX = "0%"
	for _, s := range slices.Backward(p.Spans) {
		if s.State == objects.PodReady && own.shows(s.From, s.To) {
			bar.LabelX = pct(own.percent(s.From))
		}
	}
	for _, s := range p.Spans {
		if own.shows(s.From, s.To) {
			bar.Parts = append(bar.Parts, own.band(s.From, s.To, "pd-"+string(s.State), string(s.State)))
		}
	}
	return bar
}

// podLabel fits into a bar: the workload, and the end of the name, which differs between its pods.
func podLabel(p *reports.Pod) string {
	if p.Workload == "" {
		return p.Name
	}
	return p.Workload + " " + p.Name[strings.LastIndex(p.Name, "-")+1:]
}

func podTip(n *reports.Node, p *reports.Pod) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s on %s", p.Name, nodeName(n.Name))
	for _, s := range p.Spans {
		fmt.Fprintf(&b, "; %s %s to %s", s.State, prose.Moment(s.From), prose.Moment(s.To))
	}
	if p.Restarts > 0 {
		fmt.Fprintf(&b, "; %s", prose.Counted(uint64(p.Restarts), "restart"))
	}
	for _, why := range []string{p.Disruption, p.Trouble} {
		if why != "" {
			b.WriteString("; " + why)
		}
	}
	return b.String()
}
