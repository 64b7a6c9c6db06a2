package kind

import (
	"context"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"golang.org/x/sync/errgroup"
)

// probeLimit is how long one probe repeats its checks on a node before it returns. It is short, because the pods to reach may
// change meanwhile. What was missing is reported by the whole proof.
const probeLimit = 2 * time.Second

// proof checks that a cluster is usable, by what its nodes and pods can reach.
type proof struct {
	e       runner
	client  kubernetes.Interface
	planned []member
	sealed  bool
	plain   bool // only nodes are looked at, because what else a proof needs would be holdfast's

	witnessed bool // the witness DaemonSet was created
}

// look lists what is missing. It also creates what the proof needs: the witness pods, and CoreDNS on the control plane.
func (p *proof) look(ctx context.Context) []string {
	nodes, err := p.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{})
	if err != nil {
		return []string{fmt.Sprintf("the API server does not answer: %v", err)}
	}
	missing := lacking(p.planned, nodes.Items)
	if p.plain {
		return missing
	}
	if err := p.ensureWitness(ctx, nodes.Items); err != nil {
		return append(missing, err.Error())
	}
	if len(missing) > 0 {
		return missing
	}
	witnesses, servers, err := systemPods(ctx, p.client)
	if err != nil {
		return []string{err.Error()}
	}
	if err := pinDNS(ctx, p.client, p.planned, servers); err != nil {
		return []string{err.Error()}
	}
	if missing := append(podsLacking(p.planned, witnesses), dnsLacking(p.planned, servers)...); len(missing) > 0 {
		return missing
	}
	return p.probeAll(ctx, append(addresses(witnesses), addresses(servers)...))
}

func (p *proof) ensureWitness(ctx context.Context, nodes []corev1.Node) error {
	if p.witnessed {
		return nil
	}
	image := pauseImage(nodes)
	if image == "" {
		return nil // no node has reported its images yet, which the caller lists as missing
	}
	if err := ensureWitness(ctx, p.client, image); err != nil {
		return err
	}
	p.witnessed = true
	return nil
}

// pinDNS moves CoreDNS to the control plane if the scheduler placed it elsewhere: initially, or after a starved control plane
// was considered lost. With several control planes, pinDNS spreads the pods over them: kubeadm deploys CoreDNS while there is
// only one, and the loss of that one would be a complete loss of DNS. Repeated calls change nothing.
//
// Source: https://kubernetes.io/docs/setup/production-environment/tools/kubeadm/high-availability/
func pinDNS(ctx context.Context, client kubernetes.Interface, planned []member, servers []corev1.Pod) error {
	astray := func(pod corev1.Pod) bool { return pod.DeletionTimestamp == nil && isMisplaced(planned, pod) }
	if !slices.ContainsFunc(servers, astray) && crowded(planned, servers) == "" {
		return nil
	}
	pod := map[string]any{"nodeSelector": map[string]string{labelControlPlane: ""}}
	if controlPlanes(planned) > 1 {
		pod["topologySpreadConstraints"] = []corev1.TopologySpreadConstraint{{
			MaxSkew: 1, TopologyKey: corev1.LabelHostname, WhenUnsatisfiable: corev1.DoNotSchedule,
			LabelSelector: &metav1.LabelSelector{MatchLabels: map[string]string{dnsLabel: dnsName}}, MatchLabelKeys: []string{"pod-template-hash"},
		}}
	}
	patch, err := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"spec": pod}}})
	if err != nil {
		return err
	}
	deployments := client.AppsV1().Deployments(systemNamespace)
	if _, err := deployments.Patch(ctx, dnsDeployment, types.StrategicMergePatchType, patch, metav1.PatchOptions{}); err != nil {
		return fmt.Errorf("move CoreDNS to the control plane: %w", err)
	}
	return nil
}

// probeAll probes from every node, several in parallel, whether both Services and all pods are reachable.
func (p *proof) probeAll(ctx context.Context, pods []string) []string {
	var mu sync.Mutex
	var missing []string
	var group errgroup.Group
	group.SetLimit(2 * runtime.NumCPU()) // an exec spends half of its time waiting for the engine
	for _, m := range p.planned {
		group.Go(func() error {
			found, err := probe{node: m.name, sealed: p.sealed, pods: pods, limit: probeLimit}.run(ctx, p.e)
			mu.Lock()
			defer mu.Unlock()
			if err != nil {
				missing = append(missing, err.Error())
			}
			for _, what := range found.missing {
				missing = append(missing, "node "+m.name+": "+what)
			}
			return nil
		})
	}
	_ = group.Wait() // errors are among the missing
	slices.Sort(missing)
	return missing
}

// systemPods are the witness pods and the CoreDNS pods.
func systemPods(ctx context.Context, client kubernetes.Interface) (witnesses, servers []corev1.Pod, err error) {
	for selector, into := range map[string]*[]corev1.Pod{witnessSelector: &witnesses, dnsSelector: &servers} {
		list, err := client.CoreV1().Pods(systemNamespace).List(ctx, metav1.ListOptions{LabelSelector: selector})
		if err != nil {
			return nil, nil, fmt.Errorf("list the pods with %s: %w", selector, err)
		}
		*into = list.Items
	}
	return witnesses, servers, nil
}
