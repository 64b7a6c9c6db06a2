package fault

import (
	"context"
	"encoding/base64"
	"fmt"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
)

// NodePressure puts one worker that carries pods of the workload under memory pressure in its kubelet's own eyes, or under
// pressure on its disk. Nothing is used up, for nodes may share a machine's: the kubelet is restarted with an eviction threshold
// above all there is. It then taints its node, so that no new pod comes, and evicts its pods one after the other, whatever a
// budget allows; only critical ones stay. Nothing announces an eviction of a kubelet's: such a pod has no deletionTimestamp, and
// its readiness is asked no more, so that it is offered to clients until its containers have ended, whatever they do. What is
// left of it is an object of phase Failed, or Succeeded if they ended in order.
//
// The revert restores the kubelet's own configuration, and ends when the kubelet says that the pressure is over.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/; of the readiness, doProbe in
// kubernetes pkg/kubelet/prober/worker.go
type NodePressure struct {
	// Worker picks the n-th worker by name, from 1. 0 picks one that carries pods, at random.
	Worker int
	// Soft gives pods their own grace period, up to half a minute, and so their preStop hooks; they are evicted from about
	// ten seconds after the taint on. Otherwise a pod has one second, however long a grace period it asks for.
	Soft bool
	// Disk makes it pressure on the disk, and not on the memory. The disk is not filled: nodes may share their machine's, and a
	// full one would stop every process, etcd first. The kubelet is told to want a little less free than there is, and then
	// two gibibytes are taken. It is told as well not to remove images meanwhile, as it would of what has lain unused for a
	// while: where there is no registry, they could not be pulled again.
	Disk bool
}

// pressureSignal is what a kubelet is short of: the signal of its thresholds, and the condition and the taint by which it shows.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/node-pressure-eviction/#node-conditions
type pressureSignal struct {
	of, signal string
	condition  corev1.NodeConditionType
	taint      string
}

func (p NodePressure) signal() pressureSignal {
	if p.Disk {
		return pressureSignal{"disk", "nodefs.available", corev1.NodeDiskPressure, corev1.TaintNodeDiskPressure}
	}
	return pressureSignal{"memory", "memory.available", corev1.NodeMemoryPressure, corev1.TaintNodeMemoryPressure}
}

const (
	// pressureLimit bounds how long a kubelet may take to evict all pods of the workload: one after the other, each within
	// softGraceSeconds. Seen: 8 s for each.
	pressureLimit = 5 * time.Minute
	// relieveLimit bounds how long a restarted kubelet may take to say that all is well. Seen: 2 s.
	relieveLimit = 2 * time.Minute
	// softGraceSeconds is the most that a soft eviction leaves a pod.
	softGraceSeconds = 30
	// tooMuch is more memory than any machine has. A percentage will not do: the little that a node of kind uses of its
	// machine's memory is less than one of a hundred.
	tooMuch = "1Pi"
)

func (p NodePressure) String() string {
	what := p.signal().of + " pressure on"
	if p.Soft {
		what = "soft " + what
	}
	if p.Worker > 0 {
		return fmt.Sprintf("%s worker %d", what, p.Worker)
	}
	return what + " one worker"
}

// Plan implements Fault. The pressure is active when the API server shows it and its taint, when the kubelet has evicted every pod
// of the workload that was on the node, and when clients are sent to none of them.
func (p NodePressure) Plan(ctx context.Context, t Target) (Disruption, error) {
	victim, victims, err := t.oneWorker(ctx, p.Worker)
	if err != nil {
		return nil, err
	}
	if len(victims) == 0 {
		return nil, fmt.Errorf("%s: %s carries no pod of %s", p, victim.Name(), t.Workload)
	}
	by := p.signal()
	switch pressed, tainted, _, err := t.pressure(ctx, victim.Name(), by); {
	case err != nil:
		return nil, err
	case pressed || tainted:
		return nil, fmt.Errorf("%s: %s is under pressure already: %s=%t, its taint: %t", p, victim.Name(), by.condition, pressed, tainted)
	}
	settled, _, err := t.look(ctx)
	if err != nil {
		return nil, err
	}
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	return &Effect{
		Do: func(ctx context.Context) error {
			if err := p.press(ctx, victim); err != nil || !p.Disk {
				return err
			}
			return t.fill(ctx, victim, victims)
		},
		See: func(ctx context.Context) (bool, Observation, error) {
			done, saw, astray, err := t.evicted(ctx, victim.Name(), by, before, victims)
			if len(astray) > 0 { // seen on a starved machine: the kubelet took half a minute to start, and its node was given up
				err = &FinalError{fmt.Errorf("%s: pods %s were deleted by something other than the kubelet of %s",
					p, strings.Join(astray, ", "), victim.Name())}
			}
			return done, Observation{Nodes: []string{victim.Name()}, Pods: victims, Witness: saw}, err
		},
		Ask: func(ctx context.Context) (bool, string, error) {
			pressed, tainted, _, err := t.pressure(ctx, victim.Name(), by)
			return pressed && tainted, fmt.Sprintf("%s=%t of %s, its taint: %t", by.condition, pressed, victim.Name(), tainted), err
		},
		Undo:    func(ctx context.Context) error { return t.relievePressure(ctx, victim, by) },
		Restore: t.restored(settled, victim.Name()+" is Ready, without "+by.of+" pressure and without its taint"),
		Until:   "the kubelet of " + victim.Name() + " to evict " + strings.Join(victims, ", "), Limit: pressureLimit,
	}, nil
}

// kubeletFolder is where kubeadm keeps the kubelet's configuration.
const kubeletFolder = "/var/lib/kubelet"

// pressureUndo names what is left on the node.
const pressureUndo = "node-pressure"

// The commands that touch a kubelet's configuration; $1 is its folder. What it was is kept beside it until it has been put
// back, so that a harness that was killed half-way leaves it to the next; and putting it back twice does nothing.
const (
	readKubelet  = `cd "$1" && if [ -e config.yaml.calm ]; then cat config.yaml.calm; else cat config.yaml; fi`
	pressKubelet = `set -e; cd "$1"; [ -e config.yaml.calm ] || { cp -p config.yaml calm.part; mv calm.part config.yaml.calm; }
printf %s "$2" | base64 -d >config.yaml; systemctl restart kubelet`
	restoreKubelet = `set -e; cd ` + kubeletFolder + `; rm -f holdfast-ballast; [ -e config.yaml.calm ] || exit 0
cp -p config.yaml.calm config.yaml; systemctl restart kubelet; rm config.yaml.calm`
)

// press restarts the kubelet with a threshold that cannot be met, or soon will not be.
func (p NodePressure) press(ctx context.Context, victim clusters.Node) error {
	calm, err := victim.Exec(ctx, "sh", "-c", readKubelet, "read", kubeletFolder)
	if err != nil {
		return fmt.Errorf("read the kubelet's configuration of %s: %w", victim.Name(), err)
	}
	threshold := tooMuch
	if p.Disk {
		if threshold, err = diskThreshold(ctx, victim); err != nil {
			return err
		}
	}
	pressed, err := p.underPressure(calm, threshold)
	if err != nil {
		return fmt.Errorf("change the kubelet's configuration of %s: %w", victim.Name(), err)
	}
	// Without a timer: a node under pressure can be reached, and the pressure affects its pods only.
	if err := node.LeaveUndo(ctx, victim, pressureUndo, restoreKubelet, 0); err != nil {
		return err
	}
	text := base64.StdEncoding.EncodeToString(pressed)
	if _, err := victim.Exec(ctx, "sh", "-c", pressKubelet, "press", kubeletFolder, text); err != nil {
		return fmt.Errorf("change the kubelet's configuration of %s: %w", victim.Name(), err)
	}
	return nil
}

// underPressure is a kubelet's configuration with the threshold. A kubelet takes a soft threshold of no grace period for a hard one;
// but what a hard one keeps free is taken from what the node offers to pods, and those that are there would no longer fit.
//
// Source: isHardEvictionThreshold in kubernetes pkg/kubelet/eviction/helpers.go
func (p NodePressure) underPressure(calm []byte, threshold string) ([]byte, error) {
	config := map[string]any{}
	if err := yaml.Unmarshal(calm, &config); err != nil {
		return nil, err
	}
	if config["kind"] != "KubeletConfiguration" {
		return nil, fmt.Errorf("it is of kind %v", config["kind"])
	}
	grace, most := "0s", 0
	if p.Soft {
		grace, most = "1s", softGraceSeconds
	}
	if p.Disk {
		config["imageMinimumGCAge"] = "24h"
	}
	signal := p.signal().signal
	config["evictionSoft"] = map[string]string{signal: threshold}
	config["evictionSoftGracePeriod"] = map[string]string{signal: grace}
	config["evictionMaxPodGracePeriod"] = most
	return yaml.Marshal(config)
}

// evicted asks the API server for the node's word on itself, for the kubelet's on each pod, and for the endpoints. Pods that
// go in any other way are astray.
func (t Target) evicted(
	ctx context.Context, victim string, by pressureSignal, before map[string]corev1.Pod, victims []string,
) (done bool, saw string, astray []string, err error) {
	pressed, tainted, _, err := t.pressure(ctx, victim, by)
	if err != nil {
		return false, "", nil, err
	}
	now, err := t.allPods(ctx)
	if err != nil {
		return false, "", nil, err
	}
	offered, err := t.offered(ctx)
	if err != nil {
		return false, "", nil, err
	}
	noted, err := t.evictions(ctx)
	if err != nil {
		return false, "", nil, err
	}
	gone, ends := 0, 0
	for _, name := range victims {
		uid := before[name].UID
		pod, there := now[name]
		there = there && pod.UID == uid
		switch {
		case there && evictedByKubelet(pod), !there && noted[uid]:
			gone++
		case !there || pod.DeletionTimestamp != nil:
			astray = append(astray, name)
		}
		if slices.ContainsFunc(offered, func(end corev1.ObjectReference) bool {
			return end.Name == name && (end.UID == "" || end.UID == uid)
		}) {
			ends++
		}
	}
	saw = fmt.Sprintf("the API server shows %s=%t of %s, its taint: %t; %d of %s evicted by the kubelet, %s left of them",
		by.condition, pressed, victim, tainted, gone, plural(len(victims), "pod"), plural(ends, "endpoint"))
	return pressed && tainted && gone == len(victims) && ends == 0, saw, astray, nil
}

// pressure is what a node says of its memory or disk, whether the node controller has drawn the conclusion, and whether it is Ready.
func (t Target) pressure(ctx context.Context, name string, by pressureSignal) (pressed, tainted, ready bool, err error) {
	victim, err := t.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err != nil {
		return false, false, false, fmt.Errorf("read node %s: %w", name, err)
	}
	is := func(what corev1.NodeConditionType) bool {
		return slices.ContainsFunc(victim.Status.Conditions, func(c corev1.NodeCondition) bool {
			return c.Type == what && c.Status == corev1.ConditionTrue
		})
	}
	tainted = slices.ContainsFunc(victim.Spec.Taints, func(t corev1.Taint) bool { return t.Key == by.taint })
	return is(by.condition), tainted, is(corev1.NodeReady), nil
}

// evictions are the pods of a StatefulSet of which a kubelet has noted that it evicts them: the controller removes at once what
// is left of one, and makes another of the same name. Of a Deployment's, the objects stay.
func (t Target) evictions(ctx context.Context) (map[types.UID]bool, error) {
	if t.Kind != statefulSet {
		return nil, nil
	}
	list, err := t.Client.CoreV1().Events(t.Namespace).List(ctx, metav1.ListOptions{})
	if err != nil {
		return nil, fmt.Errorf("list events of %s: %w", t.Namespace, err)
	}
	noted := map[types.UID]bool{}
	for _, e := range list.Items {
		if e.Reason == "Evicted" && e.Source.Component == "kubelet" {
			noted[e.InvolvedObject.UID] = true
		}
	}
	return noted, nil
}

// evictedByKubelet reports whether a pod has ended because a kubelet under pressure evicted it.
//
// Source: https://kubernetes.io/docs/concepts/workloads/pods/disruptions/#pod-disruption-conditions
func evictedByKubelet(pod corev1.Pod) bool {
	return ended(pod) && slices.ContainsFunc(pod.Status.Conditions, func(c corev1.PodCondition) bool {
		return c.Type == corev1.DisruptionTarget && c.Status == corev1.ConditionTrue && c.Reason == corev1.PodReasonTerminationByKubelet
	})
}

// relievePressure gives a kubelet its configuration back, and waits until the API server shows neither pressure nor taint. A kubelet
// forgets its pressure when it is restarted: it does not wait out evictionPressureTransitionPeriod.
func (t Target) relievePressure(ctx context.Context, victim clusters.Node, by pressureSignal) error {
	if err := node.RunUndo(ctx, victim, pressureUndo); err != nil {
		return fmt.Errorf("put back the kubelet's configuration of %s: %w", victim.Name(), err)
	}
	return poll.Until(ctx, "node "+victim.Name()+" to be without pressure", relieveLimit, func(ctx context.Context) (bool, string, error) {
		pressed, tainted, ready, err := t.pressure(ctx, victim.Name(), by)
		return !pressed && !tainted && ready, fmt.Sprintf("%s=%t, its taint: %t, Ready=%t", by.condition, pressed, tainted, ready), err
	})
}
