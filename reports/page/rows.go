package page

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	objects "github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

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
		fmt.Fprintf(&b, "; %s %s to %s", s.State, words.Moment(s.From), words.Moment(s.To))
	}
	if p.Restarts > 0 {
		fmt.Fprintf(&b, "; %s", words.Plural(uint64(p.Restarts), "restart"))
	}
	for _, why := range []string{p.Disruption, p.Trouble} {
		if why != "" {
			b.WriteString("; " + why)
		}
	}
	return b.String()
}
