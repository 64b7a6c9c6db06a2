package noise

import (
	"fmt"
	"maps"
	"testing"
	"testing/fstest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	idOne, idTwo = "0123456789abcdef0123", "fedcba98765432100123"
	uid          = "87c9ce9c-b951-431c-b5ac-d85ec6de506a"
)

// tree is a machine with two nodes, whose engine has a quota. Each number is in milliseconds.
type tree struct{ engineHeld, engineUsed, oneHeld, one, two, pod, self int }

func (t tree) version2() fstest.MapFS {
	root := files(map[string]string{
		"proc/stat":      "cpu  1 1 1 1 1 1 1 1\ncpu0 1\ncpu1 1\n",
		"proc/self/stat": fmt.Sprintf("7 (hold fast) S 1 1 1 0 -1 0 0 0 0 0 %d 0 0 0 20 0", t.self/10),
	})
	add := func(group string, used, held int) {
		root["sys/fs/cgroup/"+group+"/cpu.stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "usage_usec %d000\nnr_throttled 1\nthrottled_usec %d000\n", used, held)}
	}
	engine := "machine.slice/engine.slice"
	add(engine, t.engineUsed, t.engineHeld)
	add(engine+"/libpod-"+idOne+".scope", t.one, t.oneHeld)
	add(engine+"/libpod-conmon-"+idOne+".scope", 9000*t.one, 0)
	add(engine+"/libpod-"+idTwo+".scope", t.two, 0)
	add(engine+"/libpod-"+idOne+".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod87c9ce9c_b951_431c_b5ac_d85ec6de506a.slice", t.pod, 7*t.engineHeld)
	return root
}

func (t tree) version1() fstest.MapFS {
	root := fstest.MapFS{}
	for name, file := range t.version2() {
		if len(name) < 13 || name[:13] != "sys/fs/cgroup" {
			root[name] = file
			continue
		}
		group := name[14 : len(name)-len("/cpu.stat")]
		var used, held int
		_, _ = fmt.Sscanf(string(file.Data), "usage_usec %d\nnr_throttled 1\nthrottled_usec %d\n", &used, &held)
		root["sys/fs/cgroup/cpuacct/"+group+"/cpuacct.usage"] = &fstest.MapFile{Data: fmt.Appendf(nil, "%d000\n", used)}
		root["sys/fs/cgroup/cpu/"+group+"/cpu.stat"] = &fstest.MapFile{Data: fmt.Appendf(nil, "nr_periods 9\nnr_throttled 1\nthrottled_time %d000\n", held)}
	}
	return root
}

func TestGroups(t *testing.T) {
	before := tree{engineHeld: 100, engineUsed: 1000, oneHeld: 5, one: 500, two: 200, pod: 100, self: 50}
	after := tree{engineHeld: 1500, engineUsed: 1700, oneHeld: 6, one: 1000, two: 204, pod: 400, self: 90}
	want := &history.CPUGroups{
		Processors: 2, Pods: map[string]float64{uid: 0.3}, Nodes: map[string]float64{"one": 0.2}, Harness: 0.04,
		Quota: &history.CPUQuota{Group: "/machine.slice/engine.slice", Held: 1400 * time.Millisecond, Used: 700 * time.Millisecond},
	}
	nodes := &Nodes{IDs: map[string]string{"one": idOne, "two": idTwo}}
	for name, version := range map[string]func(tree) fstest.MapFS{"version 1": tree.version1, "version 2": tree.version2} {
		t.Run(name, func(t *testing.T) {
			root := version(before)
			g := newGroups(root, nodes)
			maps.Copy(root, version(after))
			if diff := cmp.Diff(want, g.since(time.Second)); diff != "" {
				t.Errorf("groups (-want +got):\n%s", diff)
			}
			if again := g.since(time.Second); again.Quota != nil || again.Pods != nil || again.Nodes != nil || again.Harness != 0 {
				t.Errorf("nothing happened, and it tells %+v", again)
			}
			gone := tree{}
			maps.Copy(root, version(gone)) // counters of groups that were made again
			if again := g.since(time.Second); again.Quota != nil || again.Pods != nil || again.Nodes != nil || again.Harness != 0 {
				t.Errorf("counters went back, and it tells %+v", again)
			}
		})
	}
}

// TestGroupsThatCannotBeRead says so, once.
func TestGroupsThatCannotBeRead(t *testing.T) {
	for name, test := range map[string]struct {
		root  fstest.MapFS
		nodes Nodes
		says  string
	}{
		"no control groups":    {files(nil), Nodes{IDs: map[string]string{"one": idOne}}, "no control group of a node is visible below /sys/fs/cgroup"},
		"those of others":      {tree{}.version2(), Nodes{IDs: map[string]string{"one": "ffff"}}, "no control group of a node is visible below /sys/fs/cgroup"},
		"an engine elsewhere":  {tree{}.version2(), Nodes{Unknown: "the containers of podman run on another machine"}, "the containers of podman run on another machine"},
		"a node without an id": {tree{}.version2(), Nodes{IDs: map[string]string{"one": ""}}, "no control group of a node is visible below /sys/fs/cgroup"},
	} {
		g := newGroups(test.root, &test.nodes)
		if got := g.since(time.Second); got == nil || got.Unknown != test.says {
			t.Errorf("%s: %+v", name, got)
		}
		if again := g.since(time.Second); again != nil {
			t.Errorf("%s: again %+v", name, again)
		}
	}
}

// TestPodsThatAreNew: what they had used before they were seen does not count.
func TestPodsThatAreNew(t *testing.T) {
	root := tree{one: 500}.version2()
	const pod = "sys/fs/cgroup/machine.slice/engine.slice/libpod-" + idOne + ".scope/kubelet.slice/kubelet-kubepods.slice/kubelet-kubepods-burstable.slice/kubelet-kubepods-burstable-pod87c9ce9c_b951_431c_b5ac_d85ec6de506a.slice/cpu.stat"
	file := root[pod]
	delete(root, pod)
	g := newGroups(root, &Nodes{IDs: map[string]string{"one": idOne}})
	root[pod] = file
	for range lookAgain {
		g.since(time.Second)
	}
	file.Data = []byte("usage_usec 700000\n")
	if got := g.since(time.Second); got.Pods != nil {
		t.Errorf("a pod that is new used %v", got.Pods)
	}
	file.Data = []byte("usage_usec 950000\n")
	if got := g.since(time.Second); got.Pods[uid] != 0.25 {
		t.Errorf("then it used %v", got.Pods)
	}
}
