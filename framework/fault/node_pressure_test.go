package fault

import (
	"cmp"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"
)

// calmConfig is the part of a kubelet's configuration in which kind turns evictions off.
const calmConfig = "kind: KubeletConfiguration\nevictionHard:\n  nodefs.available: 0%\nnodeStatusUpdateFrequency: 2s\n"

// kubelet is what a machine's commands reach: its configuration, and what it does when it is restarted with another.
type kubelet struct {
	world          *world
	node           string
	config, before string // before: what is kept until it is put back
	free           string // bytes of its disk
	err            error
}

// command is one of those that touch a kubelet's configuration.
func (k *kubelet) command(verb string, args []string) ([]byte, error) {
	switch {
	case k.err != nil:
		return nil, k.err
	case verb == "read" && k.before != "":
		return []byte(k.before), nil
	case verb == "read":
		return []byte(k.config), nil
	case verb == "press":
		text, err := base64.StdEncoding.DecodeString(args[1])
		if k.before == "" {
			k.before = k.config
		}
		k.config = string(text)
		if !k.ofDisk() {
			k.world.pressed(k.node, true)
		}
		return nil, err
	case verb == "free":
		return []byte(cmp.Or(k.free, "10737418240\n")), nil
	case verb == "pods":
		return k.world.podsOf(args[0])
	case verb == "fill":
		k.world.pressed(k.node, true)
	case verb == pressureUndo && k.before != "":
		k.config, k.before = k.before, ""
		k.world.pressed(k.node, false)
	}
	return nil, nil
}

// ofDisk: it wants disk.
func (k *kubelet) ofDisk() bool { return strings.Contains(k.config, "imageMinimumGCAge") }

// podsOf is a kubelet's answer, from behind the API server.
func (w *world) podsOf(node string) ([]byte, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	var list corev1.PodList
	for _, name := range w.allNames() {
		o, _ := w.client.Tracker().Get(corev1.SchemeGroupVersion.WithResource("pods"), "ns", name)
		if p := o.(*corev1.Pod); p.Spec.NodeName == node {
			list.Items = append(list.Items, *p)
		}
	}
	return json.Marshal(list)
}

// pressed is a kubelet that was restarted, and the node controller.
func (w *world) pressed(node string, yes bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.presses++
	if w.frozen || w.deaf {
		return
	}
	if w.lag == 0 {
		w.squeeze(node, yes)
		return
	}
	mine := w.presses
	time.AfterFunc(w.lag, func() {
		w.mu.Lock()
		defer w.mu.Unlock()
		if mine == w.presses {
			w.squeeze(node, yes)
		}
	})
}

func (w *world) squeeze(name string, yes bool) {
	nodes, pods := corev1.SchemeGroupVersion.WithResource("nodes"), corev1.SchemeGroupVersion.WithResource("pods")
	o, _ := w.client.Tracker().Get(nodes, "", name)
	node := o.(*corev1.Node).DeepCopy()
	node.Status.Conditions, node.Spec.Taints = node.Status.Conditions[:1], nil
	by := NodePressure{}.signal()
	for _, n := range w.nodes {
		if m := n.(*machine); m.name == name && m.kubelet.ofDisk() {
			by = NodePressure{Disk: true}.signal()
		}
	}
	if yes {
		node.Status.Conditions = append(node.Status.Conditions, corev1.NodeCondition{Type: by.condition, Status: corev1.ConditionTrue})
	}
	if yes && !w.untainted {
		node.Spec.Taints = []corev1.Taint{{Key: by.taint, Effect: corev1.TaintEffectNoSchedule}}
	}
	_ = w.client.Tracker().Update(nodes, node, "")
	for _, pod := range w.allNames() {
		o, _ := w.client.Tracker().Get(pods, "ns", pod)
		if p := o.(*corev1.Pod).DeepCopy(); yes && p.Spec.NodeName == name {
			p.Status.Phase = []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded}[w.made%2] // as its containers ended
			p.Status.Conditions = []corev1.PodCondition{{Type: corev1.DisruptionTarget, Status: corev1.ConditionTrue, Reason: w.evictor}}
			_ = w.client.Tracker().Update(pods, p, "ns")
		}
	}
	w.act(nil)
}

// TestAKubeletGetsItsConfigurationBack: what it was before the first that meddled with it, be it that that one was killed.
func TestAKubeletGetsItsConfigurationBack(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	k := w.nodes[1].(*machine).kubelet
	k.before, k.config = calmConfig, "of a harness that was killed"
	heal, err := inject(t.Context(), NodePressure{Worker: 2}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k.config, tooMuch) || !strings.Contains(k.config, "nodeStatusUpdateFrequency: 2s") {
		t.Errorf("under pressure it has\n%s", k.config)
	}
	if err := heal(t.Context()); err != nil || k.config != calmConfig || k.before != "" {
		t.Errorf("afterwards %v, and it has\n%s", err, k.config)
	}
}

// TestDiskPressureLeavesTheOthersTheirDisk: the threshold lies between what is free before and after, and where that would be too
// little nothing is touched.
func TestDiskPressureLeavesTheOthersTheirDisk(t *testing.T) {
	w, target := withControlPlane(t)
	k := w.nodes[2].(*machine).kubelet
	if _, err := inject(t.Context(), NodePressure{Worker: 2, Disk: true}, target); err != nil {
		t.Fatal(err)
	}
	if !strings.Contains(k.config, "nodefs.available: \"9663676416\"") { // 9 GiB of 10, of which 2 are then taken
		t.Errorf("under pressure it has\n%s", k.config)
	}
	w, target = withControlPlane(t)
	w.nodes[2].(*machine).kubelet.free = "5368709120\n"
	const want = "of w2's disk 5120 MiB are free, and disk pressure needs 6144: free some on the machine that holds the nodes"
	if _, err := inject(t.Context(), NodePressure{Worker: 2, Disk: true}, target); err == nil || err.Error() != want || w.presses != 0 {
		t.Errorf("got %v, %d restarts, want %s", err, w.presses, want)
	}
}

func TestTense(t *testing.T) {
	for p, want := range map[NodePressure]string{
		{}: "evictionHard:\n  nodefs.available: 0%\nevictionMaxPodGracePeriod: 0\nevictionSoft:\n  memory.available: 1Pi\n" +
			"evictionSoftGracePeriod:\n  memory.available: 0s\nkind: KubeletConfiguration\nnodeStatusUpdateFrequency: 2s\n",
		{Soft: true}: "evictionHard:\n  nodefs.available: 0%\nevictionMaxPodGracePeriod: 30\nevictionSoft:\n  memory.available: 1Pi\n" +
			"evictionSoftGracePeriod:\n  memory.available: 1s\nkind: KubeletConfiguration\nnodeStatusUpdateFrequency: 2s\n",
		{Disk: true}: "evictionHard:\n  nodefs.available: 0%\nevictionMaxPodGracePeriod: 0\nevictionSoft:\n  nodefs.available: 9T\n" +
			"evictionSoftGracePeriod:\n  nodefs.available: 0s\nimageMinimumGCAge: 24h\nkind: KubeletConfiguration\nnodeStatusUpdateFrequency: 2s\n",
	} {
		got, err := p.underPressure([]byte(calmConfig), map[bool]string{false: tooMuch, true: "9T"}[p.Disk])
		if err != nil || string(got) != want {
			t.Errorf("%s: %v, got\n%s\nwant\n%s", p, err, got, want)
		}
	}
	for text, want := range map[string]string{"": "it is of kind <nil>", "kind: Pod": "it is of kind Pod", "\t": "error converting YAML to JSON: "} {
		if _, err := (NodePressure{}).underPressure([]byte(text), tooMuch); err == nil || !strings.HasPrefix(err.Error(), want) {
			t.Errorf("%q: %v, want %s", text, err, want)
		}
	}
}

// TestPressureThatCannotBeIsAnError: nothing is touched then.
func TestPressureThatCannotBeIsAnError(t *testing.T) {
	for want, s := range map[string]struct {
		fault NodePressure
		spoil func(*world)
	}{
		"soft memory pressure on worker 1: w1 carries no pod of backend": {
			NodePressure{Worker: 1, Soft: true}, func(w *world) { w.move("w1", "w2") }},
		"read the kubelet's configuration of w1: no such container": {
			NodePressure{Worker: 1}, func(w *world) { w.nodes[0].(*machine).err = errors.New("no such container") }},
		"change the kubelet's configuration of w1: it is of kind Pod": {
			NodePressure{Worker: 1}, func(w *world) { w.nodes[0].(*machine).kubelet.config = "kind: Pod" }},
	} {
		w := newWorld(6, "w1", "w2", "w3")
		s.spoil(w)
		heal, err := inject(t.Context(), s.fault, w.target())
		if err == nil || err.Error() != want || len(w.seen) != 0 || w.presses != 0 || heal == nil {
			t.Errorf("got %v, seen %q, %d restarts, want %s", err, w.seen, w.presses, want)
		}
	}
}

// move puts all pods of one node on another.
func (w *world) move(from, to string) {
	pods := corev1.SchemeGroupVersion.WithResource("pods")
	for _, name := range w.allNames() {
		o, _ := w.client.Tracker().Get(pods, "ns", name)
		if p := o.(*corev1.Pod).DeepCopy(); p.Spec.NodeName == from {
			p.Spec.NodeName = to
			_ = w.client.Tracker().Update(pods, p, "ns")
		}
	}
}

// TestAnUndoOfPressureWaitsForTheNode: a kubelet that was given its configuration back and does not say that all is well.
func TestAnUndoOfPressureWaitsForTheNode(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		heal, err := inject(t.Context(), NodePressure{Worker: 2}, w.target())
		if err != nil {
			t.Fatal(err)
		}
		w.deaf = true
		const want = "waited 2m0s for node w2 to be without pressure: last seen MemoryPressure=true, its taint: true, Ready=true ("
		if err := heal(t.Context()); err == nil || !strings.HasPrefix(err.Error(), want) || len(w.healed) != 0 {
			t.Errorf("got %v, healed %q, want %s", err, w.healed, want)
		}
	})
}

// TestAnUndoOfPressureThatCannotBeWritten says so.
func TestAnUndoOfPressureThatCannotBeWritten(t *testing.T) {
	w := newWorld(6, "w1", "w2", "w3")
	heal, err := inject(t.Context(), NodePressure{Worker: 2}, w.target())
	if err != nil {
		t.Fatal(err)
	}
	w.nodes[1].(*machine).kubelet.err = errors.New("read-only file system")
	const want = "put back the kubelet's configuration of w2: run the undo node-pressure on w2: read-only file system"
	if err := heal(t.Context()); err == nil || err.Error() != want || len(w.healed) != 0 {
		t.Errorf("got %v, healed %q", err, w.healed)
	}
}

// TestAPodThatLeftNothingBehind was evicted if it is a StatefulSet's and its kubelet has noted it, be it that another has its
// name; and otherwise it went astray.
func TestAPodThatLeftNothingBehind(t *testing.T) {
	pod := func(uid types.UID) *corev1.Pod {
		return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Name: "pod-001", Namespace: "ns", UID: uid, Labels: map[string]string{"app": "backend"}}}
	}
	note := func(reason, by string, uid types.UID) *corev1.Event {
		return &corev1.Event{
			ObjectMeta: metav1.ObjectMeta{Name: "note", Namespace: "ns"}, Reason: reason, Source: corev1.EventSource{Component: by},
			InvolvedObject: corev1.ObjectReference{Kind: "Pod", Name: "pod-001", UID: uid},
		}
	}
	going := pod("old")
	going.DeletionTimestamp, going.Finalizers = &metav1.Time{Time: time.Unix(1, 0)}, []string{"test"}
	const evicted, astray, neither = "evicted", "astray", ""
	for name, s := range map[string]struct {
		now         *corev1.Pod
		note        *corev1.Event
		statefulSet string
		deployment  string
	}{
		"gone, and noted":               {nil, note("Evicted", "kubelet", "old"), evicted, astray},
		"replaced, and noted":           {pod("new"), note("Evicted", "kubelet", "old"), evicted, astray},
		"still there, and noted":        {pod("old"), note("Evicted", "kubelet", "old"), neither, neither},
		"on its way, and noted too":     {going, note("Evicted", "kubelet", "old"), astray, astray},
		"gone":                          {nil, note("Killing", "kubelet", "old"), astray, astray},
		"gone, by somebody else":        {nil, note("Evicted", "taint-eviction-controller", "old"), astray, astray},
		"replaced by one that is noted": {pod("new"), note("Evicted", "kubelet", "new"), astray, astray},
	} {
		for stateful, want := range map[bool]string{true: s.statefulSet, false: s.deployment} {
			w := newWorld(1, "w1")
			w.squeeze("w1", true)
			_ = w.client.Tracker().Delete(corev1.SchemeGroupVersion.WithResource("pods"), "ns", "pod-001")
			if s.now != nil {
				_ = w.client.Tracker().Add(s.now.DeepCopy())
			}
			_ = w.client.Tracker().Add(s.note.DeepCopy())
			target := w.target()
			if stateful {
				target.Kind = statefulSet
				w.stateful()
			}
			done, saw, lost, err := target.evicted(t.Context(), "w1", NodePressure{}.signal(), map[string]corev1.Pod{"pod-001": *pod("old")}, []string{"pod-001"})
			if done != (want == evicted) || (len(lost) > 0) != (want == astray) || err != nil {
				t.Errorf("%s, StatefulSet %t: %t, astray %q, %v: %s", name, stateful, done, lost, err, saw)
			}
		}
	}
}

// TestAPodThatWentAstrayIsAnError, at once: what a node controller deletes is no witness of a kubelet's eviction.
func TestAPodThatWentAstrayIsAnError(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		w.lag = 10 * time.Second
		time.AfterFunc(3*time.Second, func() {
			w.mu.Lock()
			defer w.mu.Unlock()
			w.send("pod-004")
		})
		began := time.Now()
		heal, err := inject(t.Context(), NodePressure{Worker: 2}, w.target())
		const want = "memory pressure on worker 2: pods pod-004 were deleted by something other than the kubelet of w2"
		if err == nil || err.Error() != want || len(w.seen) != 0 || time.Since(began) > 4*time.Second {
			t.Errorf("got %v after %s, seen %q", err, time.Since(began), w.seen)
		}
		w.mu.Lock()
		w.act([]string{"pod-004"})
		w.mu.Unlock()
		if err := heal(t.Context()); err != nil || len(w.healed) != 1 {
			t.Errorf("undo: %v, healed %q", err, w.healed)
		}
	})
}

// TestAPodThatHasEndedHoldsNothing: neither does its node carry the workload, nor is it a pod too many.
func TestAPodThatHasEndedHoldsNothing(t *testing.T) {
	for _, phase := range []corev1.PodPhase{corev1.PodFailed, corev1.PodSucceeded} {
		w := newWorld(2, "w1", "w2", "w3")
		w.move("w2", "w1")
		w.move("w3", "w1")
		err := w.client.Tracker().Add(&corev1.Pod{
			ObjectMeta: metav1.ObjectMeta{Name: "evicted", Namespace: "ns", Labels: map[string]string{"app": "backend"}},
			Spec:       corev1.PodSpec{NodeName: "w3"}, Status: corev1.PodStatus{Phase: phase},
		})
		if err != nil {
			t.Fatal(err)
		}
		if done, saw, err := w.target().settled(t.Context()); !done || err != nil || !strings.HasPrefix(saw, "2 pods exist") {
			t.Errorf("%s: %s, %v", phase, saw, err)
		}
		const want = "pick 2 workers with pods of backend: only 1 carry any"
		if _, _, err := w.target().victims(t.Context(), 2); err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", phase, err, want)
		}
		if nodes, pods, err := w.target().victims(t.Context(), 1); err != nil || nodes[0].Name() != "w1" || len(pods) != 2 {
			t.Errorf("%s: %v, %q", phase, err, pods)
		}
	}
}

// TestTheKubeletsFiles runs what is run on nodes, with a systemctl that only counts: under pressure twice, for a harness may
// have been killed, and put back twice.
func TestTheKubeletsFiles(t *testing.T) {
	dir, bin := t.TempDir(), t.TempDir()
	write := func(path, text string) {
		t.Helper()
		if err := os.WriteFile(path, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	write(filepath.Join(dir, "config.yaml"), calmConfig)
	write(filepath.Join(bin, "systemctl"), fmt.Sprintf("#!/bin/sh\necho \"$@\" >>%s/restarts\n", bin))
	// macOS has no fallocate. Here the size of the file does not matter.
	if _, err := exec.LookPath("fallocate"); err != nil {
		write(filepath.Join(bin, "fallocate"), "#!/bin/sh\n: >\"$3\"\n")
	}
	run := func(script string, args ...string) string {
		t.Helper()
		command := exec.CommandContext(t.Context(), "sh", append([]string{"-c", script, "test", dir}, args...)...)
		command.Env = append(os.Environ(), "PATH="+bin+":"+os.Getenv("PATH"))
		out, err := command.CombinedOutput()
		if err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return string(out)
	}
	relax := strings.ReplaceAll(restoreKubelet, kubeletFolder, dir)
	has := func(config, kept string, restarts int) {
		t.Helper()
		text, _ := os.ReadFile(filepath.Join(dir, "config.yaml"))
		before, _ := os.ReadFile(filepath.Join(dir, "config.yaml.calm"))
		count, _ := os.ReadFile(filepath.Join(bin, "restarts"))
		if string(text) != config || string(before) != kept || string(count) != strings.Repeat("restart kubelet\n", restarts) {
			t.Errorf("it has %q, and keeps %q, after %q", text, before, count)
		}
	}
	run(relax)
	has(calmConfig, "", 0)
	for i, text := range []string{"tense: 1\n", "tense: 2\n"} {
		if got := run(readKubelet); got != calmConfig {
			t.Errorf("read %q", got)
		}
		run(fillDisk, "4096")
		run(pressKubelet, base64.StdEncoding.EncodeToString([]byte(text)))
		has(text, calmConfig, i+1)
	}
	run(relax)
	has(calmConfig, "", 3)
	run(relax)
	has(calmConfig, "", 3)
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) != 1 {
		t.Errorf("left behind: %q", left)
	}
	if err := yaml.Unmarshal([]byte(run(readKubelet)), &map[string]any{}); err != nil {
		t.Error(err)
	}
}
