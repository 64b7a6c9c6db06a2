package fault

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// SettleLimit bounds how long a workload may take to settle after it was disturbed. It ends what is stuck, and is no measure:
// on two cores a rolling update of 120 pods, in trials side by side, was seen to take just under four minutes.
const SettleLimit = 10 * time.Minute

// pods lists the workload's pods by name, those that are being deleted included. A pod that has ended holds no resources, is not offered
// to clients, and is not counted by its controller: a pod that a kubelet has evicted stays behind as such an object.
func (t Target) pods(ctx context.Context) (map[string]corev1.Pod, error) {
	pods, err := t.allPods(ctx)
	maps.DeleteFunc(pods, func(_ string, p corev1.Pod) bool { return ended(p) })
	return pods, err
}

// staying are the pods that are not being deleted: a pod that is going would be seen to go whatever we do.
func (t Target) staying(ctx context.Context) (map[string]corev1.Pod, error) {
	pods, err := t.pods(ctx)
	maps.DeleteFunc(pods, func(_ string, p corev1.Pod) bool { return p.DeletionTimestamp != nil })
	return pods, err
}

// ended reports whether all containers of a pod have ended for good.
func ended(p corev1.Pod) bool {
	return p.Status.Phase == corev1.PodSucceeded || p.Status.Phase == corev1.PodFailed
}

// allPods lists the workload's pods, those that have ended included, by name. Pods of others with the same labels are not among them.
func (t Target) allPods(ctx context.Context) (map[string]corev1.Pod, error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return nil, err
	}
	list, err := t.Client.CoreV1().Pods(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: metav1.FormatLabelSelector(d.Spec.Selector),
	})
	if err != nil {
		return nil, fmt.Errorf("list pods of %s/%s: %w", t.Namespace, t.Workload, err)
	}
	pods := map[string]corev1.Pod{}
	for _, p := range list.Items {
		if t.owns(&p) {
			pods[p.Name] = p
		}
	}
	return pods, nil
}

// owns reports whether the workload's controller has made a pod. Labels do not say so: a Job, or another Deployment, may have the same.
func (t Target) owns(p *corev1.Pod) bool {
	by := metav1.GetControllerOfNoCopy(p)
	if by == nil {
		return false
	}
	return p.Namespace == t.Namespace && history.OwnerOf(by.Kind, by.Name).Top(p.Labels) == history.OwnerOf(t.apiKind(), t.Workload)
}

// served names those of some pods of the workload that the endpoint controller offers to clients as ready, and returns what else it offers.
func (t Target) served(ctx context.Context, pods map[string]corev1.Pod) (own []string, others []corev1.ObjectReference, err error) {
	offered, err := t.offered(ctx)
	for _, ref := range offered {
		if p, is := pods[ref.Name]; is && (ref.UID == "" || ref.UID == p.UID) {
			own = append(own, ref.Name)
		} else {
			others = append(others, ref)
		}
	}
	slices.Sort(own)
	return slices.Compact(own), others, err // a pod may belong to several Services
}

// leftover names the first endpoint, of some that are not the workload's pods of now, that no client should be sent to: its pod is gone, or is
// one of the workload's that has ended. Pods of other workloads may be behind the same Service.
func (t Target) leftover(ctx context.Context, others []corev1.ObjectReference) (name string, err error) {
	for _, ref := range others {
		p, err := t.Client.CoreV1().Pods(t.Namespace).Get(ctx, ref.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err):
			return ref.Name, nil
		case err != nil:
			return "", fmt.Errorf("read pod %s/%s, an endpoint of %s: %w", t.Namespace, ref.Name, t.Workload, err)
		case ref.UID != "" && ref.UID != p.UID, t.owns(p):
			return ref.Name, nil
		}
	}
	return "", nil
}

// offered are the pods that the endpoint controller offers to clients as ready.
func (t Target) offered(ctx context.Context) (pods []corev1.ObjectReference, err error) {
	services := t.services()
	if len(services) == 0 {
		return nil, nil
	}
	list, err := t.Client.DiscoveryV1().EndpointSlices(t.Namespace).List(ctx, metav1.ListOptions{
		LabelSelector: fmt.Sprintf("%s in (%s)", discoveryv1.LabelServiceName, strings.Join(services, ",")),
	})
	if err != nil {
		return nil, fmt.Errorf("list endpoints of %s/%s: %w", t.Namespace, t.Workload, err)
	}
	for _, s := range list.Items {
		for _, e := range s.Endpoints {
			if e.TargetRef != nil && e.Conditions.Ready != nil && *e.Conditions.Ready {
				pods = append(pods, *e.TargetRef)
			}
		}
	}
	return pods, nil
}

func (t Target) services() []string {
	if t.Services == nil {
		return []string{t.Workload}
	}
	return t.Services
}

// Settle waits until the workload is what its controller asks for, as seen by two witnesses that are not the API call
// which disturbed it: the pods that exist (those still going counted), and the endpoint controller.
func (t Target) Settle(ctx context.Context) (witness string, err error) {
	err = poll.Until(ctx, t.kind()+" "+t.Workload+" to settle", SettleLimit,
		func(ctx context.Context) (bool, string, error) {
			done, saw, err := t.settled(ctx)
			witness = saw
			return done, saw, err
		})
	return witness, err
}

func (t Target) settled(ctx context.Context) (done bool, saw string, err error) {
	d, err := t.deployment(ctx)
	if err != nil {
		return false, "", err
	}
	pods, err := t.pods(ctx)
	if err != nil {
		return false, "", err
	}
	endpoints, others, err := t.served(ctx, pods)
	if err != nil {
		return false, "", err
	}
	want := int(*d.Spec.Replicas)
	placed, pending := placedOf(pods)
	room := want
	if t.SchedulableReplicas > 0 {
		room = min(want, t.SchedulableReplicas)
	}
	updated, available, leaving := int(d.Status.UpdatedReplicas), int(d.Status.AvailableReplicas), going(pods)
	service, offers := "Service "+strings.Join(t.services(), ", "), fmt.Sprintf("it has %d", len(endpoints))
	if len(others) > 0 {
		offers += fmt.Sprintf(", and %d of other pods", len(others))
	}
	words := []string{fmt.Sprintf("%d of %s available", available, plural(room, "pod"))} // while it is not settled
	done = available == room
	need := func(met bool, otherwise string) {
		if !met {
			done, words = false, append(words, otherwise)
		}
	}
	need(d.Status.ObservedGeneration >= d.Generation, "its controller has not seen its newest change")
	need(len(pods) == want, fmt.Sprintf("%s should exist, and not %d", plural(want, "pod"), len(pods)))
	need(updated == want, fmt.Sprintf("%d should be of the newest revision, and not %d", want, updated))
	need(pending == want-room, fmt.Sprintf("no node should be found for %d, and not for %d", want-room, pending))
	need(leaving == 0, plural(leaving, "pod")+" being deleted")
	need(len(t.services()) == 0 || slices.Equal(endpoints, placed),
		fmt.Sprintf("%s should have %s (%s)", service, plural(len(placed), "endpoint"), offers))
	if done && len(others) > 0 {
		left, err := t.leftover(ctx, others)
		if err != nil {
			return false, "", err
		}
		need(left == "", fmt.Sprintf("%s should not have %s, which has gone (%s)", service, left, offers))
	}
	if !done {
		return false, strings.Join(words, "; "), nil
	}
	saw = fmt.Sprintf("%d pods exist, %d of the newest revision, %d available, %d ready endpoints, %d wanted",
		len(pods), updated, available, len(endpoints), want)
	if pending > 0 {
		saw += fmt.Sprintf(", no node found for %d", pending)
	}
	return true, saw, nil
}

// look reports whether the workload is settled just now. It waits for an API server that is away for a moment.
func (t Target) look(ctx context.Context) (settled bool, saw string, err error) {
	err = poll.Until(ctx, "a look at "+t.Workload, SettleLimit, func(ctx context.Context) (bool, string, error) {
		var err error
		settled, saw, err = t.settled(ctx)
		return err == nil, saw, err
	})
	return settled, saw, err
}

// placedOf names the pods that have a node, and counts those for which the scheduler has said that it finds none.
func placedOf(pods map[string]corev1.Pod) (names []string, pending int) {
	for _, name := range slices.Sorted(maps.Keys(pods)) {
		if pods[name].Spec.NodeName != "" {
			names = append(names, name)
			continue
		}
		for _, c := range pods[name].Status.Conditions {
			if c.Type == corev1.PodScheduled && c.Status == corev1.ConditionFalse && c.Reason == corev1.PodReasonUnschedulable {
				pending++
			}
		}
	}
	return names, pending
}

// going counts the pods whose deletion was accepted. Until the controllers have noticed, all else looks settled.
func going(pods map[string]corev1.Pod) (n int) {
	for _, p := range pods {
		if p.DeletionTimestamp != nil {
			n++
		}
	}
	return n
}

// gone names the pods of before that are no longer there.
func gone(before, after map[string]corev1.Pod) []string {
	var names []string
	for name, pod := range before {
		if now, still := after[name]; !still || now.UID != pod.UID {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// victims picks count workers that carry pods of the workload, at random but repeatably, one of them such that clients of every
// kind talk to its pods, and names those pods.
func (t Target) victims(ctx context.Context, count int) (nodes []clusters.Node, pods []string, err error) {
	all, err := t.pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	on := map[string][]string{}
	for name, pod := range all {
		on[pod.Spec.NodeName] = append(on[pod.Spec.NodeName], name)
	}
	var candidates []clusters.Node
	for _, n := range t.Cluster.Nodes() {
		if underTest(n) && len(on[n.Name()]) > 0 {
			candidates = append(candidates, n)
		}
	}
	if len(candidates) < count {
		return nil, nil, fmt.Errorf("pick %d workers with pods of %s: only %d carry any", count, t.Workload, len(candidates))
	}
	t.Rand.Shuffle(len(candidates), func(i, j int) { candidates[i], candidates[j] = candidates[j], candidates[i] })
	carried := make([][]string, len(candidates))
	for i, n := range candidates {
		carried[i] = on[n.Name()]
	}
	first, err := t.aim(ctx, carried)
	if err != nil {
		return nil, nil, err
	}
	toFront(candidates, first)
	nodes = candidates[:count]
	for _, n := range nodes {
		pods = append(pods, on[n.Name()]...)
	}
	slices.Sort(pods)
	return nodes, pods, nil
}

// underTest reports whether faults may touch a node.
func underTest(n clusters.Node) bool {
	return n.Role() == clusters.Worker || n.Role() == clusters.Simulated
}

// oneNode is the n-th worker by name, from 1, or of 0 a node that carries pods, and the workload's pods on it.
func (t Target) oneNode(ctx context.Context, n int) (clusters.Node, []string, error) {
	if n > 0 {
		return t.worker(ctx, n)
	}
	nodes, pods, err := t.victims(ctx, 1)
	if err != nil {
		return nil, nil, err
	}
	return nodes[0], pods, nil
}

// oneWorker is oneNode for a fault that needs a machine.
func (t Target) oneWorker(ctx context.Context, n int) (clusters.Node, []string, error) {
	node, pods, err := t.oneNode(ctx, n)
	if err != nil {
		return nil, nil, err
	}
	return node, pods, needsMachine(node)
}

// needsMachine is a NotSupported if a node is simulated: what its kubelet, its kernel or its network would do cannot be seen there.
func needsMachine(n clusters.Node) error {
	if n.Role() != clusters.Simulated {
		return nil
	}
	return &NotSupported{What: "a fault of a machine", Why: fmt.Sprintf("%s: %s", n.Name(), clusters.ErrSimulated)}
}

// worker is the n-th worker by name, from 1, and the workload's pods on it.
func (t Target) worker(ctx context.Context, n int) (clusters.Node, []string, error) {
	all, err := t.pods(ctx)
	if err != nil {
		return nil, nil, err
	}
	wanted := n
	for _, node := range t.Cluster.Nodes() {
		if node.Role() != clusters.Worker {
			continue
		}
		if n--; n > 0 {
			continue
		}
		return node, slices.Sorted(maps.Keys(on(all, node.Name()))), nil
	}
	return nil, nil, fmt.Errorf("no worker %d: cluster %s has %d workers", wanted, t.Cluster.Name(), wanted-n)
}

// restored is the end of a revert of which there is a witness: the workload has settled as well, if it was settled before. If it was
// not, another fault keeps it from that, and is reverted later.
func (t Target) restored(settled bool, witness string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		if !settled {
			return witness, nil
		}
		return t.settledAfter(witness)(ctx)
	}
}

// settledAfter waits until the workload has settled, after something that a witness has seen.
func (t Target) settledAfter(witness string) func(context.Context) (string, error) {
	return func(ctx context.Context) (string, error) {
		saw, err := t.Settle(ctx)
		return witness + "; " + saw, err
	}
}

// plural writes "1 pod", "3 pods".
func plural(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
