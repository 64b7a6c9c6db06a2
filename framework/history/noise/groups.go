package noise

import (
	"io/fs"
	"path"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Nodes are the containers that are a cluster's nodes.
type Nodes struct {
	// IDs are the engine's ids of the containers, by the nodes' names. A control group of the container has its id in its name.
	IDs map[string]string
	// Unknown is why their control groups cannot be read; empty: they may be.
	Unknown string
}

const (
	// leastUsed is the smallest part of a processor that is recorded, because records shall be short.
	leastUsed = 0.01
	// lookAgain is how many samples come between two looks for pods that are new. A look lists four folders for each node.
	lookAgain = 4
	// deepest bounds the search for the nodes' groups.
	deepest = 6
	// tick is the unit of /proc/self/stat, which the kernel tells to programs as the same on all machines.
	tick = time.Second / 100
)

// groups reads the control groups of nodes, of which the kernel shows this process those below its own namespace's root.
type groups struct {
	root    fs.FS
	nodes   *Nodes
	control string            // the folder with the files cpu.stat
	account string            // the folder with the files of usage: on version 2, and mostly on version 1, the same groups
	paths   map[string]string // of the nodes' groups, by name
	pods    map[string]pod    // by the path of their group
	samples int
	before  counters
}

type pod struct{ uid, node string }

// counters are cumulative, by the path of a group.
type counters struct {
	used, held map[string]time.Duration
	own        time.Duration
}

func newGroups(root fs.FS, nodes *Nodes) *groups {
	if nodes == nil {
		return nil
	}
	g := &groups{root: root, nodes: nodes, control: "sys/fs/cgroup", account: "sys/fs/cgroup"}
	if _, err := fs.Stat(root, "sys/fs/cgroup/cpuacct"); err == nil { // version 1
		g.control, g.account = "sys/fs/cgroup/cpu", "sys/fs/cgroup/cpuacct"
	}
	g.look()
	g.before = g.read()
	return g
}

// since is what happened since the last call, or since newGroups.
func (g *groups) since(passed time.Duration) *history.CPUGroups {
	g.samples++
	if len(g.paths) == 0 {
		if g.samples > 1 {
			return nil
		}
		unknown := g.nodes.Unknown
		if unknown == "" {
			unknown = "no control group of a node is visible below /sys/fs/cgroup"
		}
		return &history.CPUGroups{Unknown: unknown}
	}
	now := g.read()
	s := g.difference(now, passed)
	g.before = now
	if g.samples%lookAgain == 0 {
		g.look()
	}
	return s
}

func (g *groups) difference(now counters, passed time.Duration) *history.CPUGroups {
	s := &history.CPUGroups{Processors: processors(g.root), Harness: part(now.own-g.before.own, passed)}
	used := func(group string) time.Duration {
		before, known := g.before.used[group]
		if !known {
			return 0
		}
		return max(0, now.used[group]-before)
	}
	rest := make(map[string]time.Duration)
	for name, group := range g.paths {
		rest[name] = used(group)
	}
	for group, p := range g.pods {
		if share := part(used(group), passed); share >= leastUsed {
			s.Pods = put(s.Pods, p.uid, share)
			rest[p.node] -= used(group)
		}
	}
	for name, d := range rest {
		if share := part(d, passed); share >= leastUsed {
			s.Nodes = put(s.Nodes, name, share)
		}
	}
	for group, held := range now.held {
		q := history.CPUQuota{Group: "/" + group, Held: held - g.before.held[group], Used: used(group)}
		if before, known := g.before.held[group]; known && held > before && (s.Quota == nil || worse(q, *s.Quota)) {
			s.Quota = &q
		}
	}
	return s
}

// worse says whether a quota held back a larger part of what could have run than another.
func worse(a, b history.CPUQuota) bool {
	x, y := float64(a.Held)*float64(b.Used), float64(b.Held)*float64(a.Used)
	return x > y || x == y && a.Group < b.Group
}

func put(m map[string]float64, name string, n float64) map[string]float64 {
	if m == nil {
		m = make(map[string]float64)
	}
	m[name] = n
	return m
}

// part is how many processors were used, rounded to hundredths.
func part(used, passed time.Duration) float64 {
	if passed <= 0 || used <= 0 {
		return 0
	}
	return float64(int(float64(used)/float64(passed)*100+0.5)) / 100
}

// look finds the groups of the nodes, if they are not known yet, and those of their pods.
func (g *groups) look() {
	if len(g.paths) < len(g.nodes.IDs) {
		g.paths = make(map[string]string)
		g.findNodes("", deepest)
	}
	g.pods = make(map[string]pod)
	for name, group := range g.paths {
		g.findPods(name, group)
	}
}

func (g *groups) findNodes(below string, depth int) {
	for _, child := range g.children(below) {
		name := g.nodeOf(path.Base(child))
		switch {
		case name != "":
			g.paths[name] = child
		case depth > 0:
			g.findNodes(child, depth-1)
		}
	}
}

// nodeOf is the node with such a group; empty: none. Podman has a second group for what watches over a container.
func (g *groups) nodeOf(group string) string {
	for name, id := range g.nodes.IDs {
		if id != "" && strings.Contains(group, id) && !strings.Contains(group, "conmon") {
			return name
		}
	}
	return ""
}

// podGroup is the name of a pod's group, as the kubelet makes it, with the driver systemd or cgroupfs. Static pods, whose UIDs have no
// dashes, count for their node.
var podGroup = regexp.MustCompile(`pod([0-9a-f]{8}(?:[-_][0-9a-f]{4}){3}[-_][0-9a-f]{12})(?:\.slice)?$`)

func (g *groups) findPods(node, below string) {
	for _, child := range g.children(below) {
		base := path.Base(child)
		if found := podGroup.FindStringSubmatch(base); found != nil {
			g.pods[child] = pod{uid: strings.ReplaceAll(found[1], "_", "-"), node: node}
		} else if strings.HasPrefix(base, "kube") || base == "burstable" || base == "besteffort" {
			g.findPods(node, child)
		}
	}
}

func (g *groups) children(below string) (list []string) {
	entries, err := fs.ReadDir(g.root, path.Join(g.account, below))
	if err != nil {
		return nil
	}
	for _, e := range entries {
		if e.IsDir() {
			list = append(list, path.Join(below, e.Name()))
		}
	}
	return list
}

// read reads the counters of the nodes, of their pods, and of all groups above.
func (g *groups) read() counters {
	c := counters{used: make(map[string]time.Duration), held: make(map[string]time.Duration), own: ownTime(g.root)}
	for group := range g.pods {
		g.readUsage(group, c.used)
	}
	for _, group := range g.paths {
		for at := group; ; at = path.Dir(at) {
			if at == "." {
				at = ""
			}
			if _, had := c.held[at]; had {
				break
			}
			g.readUsage(at, c.used)
			if held := readStat(g.root, path.Join(g.control, at, "cpu.stat"), throttled); held.known {
				c.held[at] = held.time
			}
			if at == "" {
				break
			}
		}
	}
	return c
}

func (g *groups) readUsage(group string, into map[string]time.Duration) {
	file, keys := "cpu.stat", stats{"usage_usec": time.Microsecond}
	if g.account != g.control {
		file, keys = "cpuacct.usage", stats{"": 1}
	}
	if used := readStat(g.root, path.Join(g.account, group, file), keys); used.known {
		into[group] = used.time
	}
}

// ownTime is the processor time of this process and of the commands that it waited for.
//
// Source: proc_pid_stat(5), the fields utime, stime, cutime and cstime
func ownTime(root fs.FS) (sum time.Duration) {
	data, err := fs.ReadFile(root, "proc/self/stat")
	if err != nil {
		return 0
	}
	const first, last = 11, 15 // after the name, which is in parentheses and may contain anything
	fields := strings.Fields(string(data[strings.LastIndexByte(string(data), ')')+1:]))
	if len(fields) < last {
		return 0
	}
	for _, field := range fields[first:last] {
		n, err := strconv.ParseInt(field, 10, 64)
		if err != nil {
			return 0
		}
		sum += time.Duration(n) * tick
	}
	return sum
}

// processors is how many the machine has.
func processors(root fs.FS) (n int) {
	for _, fields := range lines(root, "proc/stat") {
		if strings.HasPrefix(fields[0], "cpu") && fields[0] != "cpu" {
			n++
		}
	}
	return n
}
