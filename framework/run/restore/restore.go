package restore

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
	"github.com/holdfast-ha/holdfast/workloads"
)

// serverLimit bounds how long an API server may take to answer after its node runs and the fault is reverted. Measured after an
// etcd outage: 3 min 20 s, see suites/chaos/etcd_away.go.
const serverLimit = 5 * time.Minute

// Cluster reverts the faults that a killed harness has left in a cluster, and removes its objects: it unpauses and starts nodes,
// runs the undo scripts that faults have stored on them, uncordons nodes that a fault has cordoned, and deletes the namespaces and
// all other objects with holdfast's labels. It calls say once for each thing it did, and once for all simulated nodes. It returns
// when AwaitIntact does. It must not be called while a run uses the cluster.
func Cluster(ctx context.Context, cluster clusters.Cluster, say func(string)) error {
	h := restorer{cluster: cluster, say: say}
	if err := h.machines(ctx); err != nil {
		return fmt.Errorf("heal cluster %s: %w", cluster.Name(), err)
	}
	if err := h.objects(ctx); err != nil {
		return fmt.Errorf("heal cluster %s: %w", cluster.Name(), err)
	}
	return nil
}

type restorer struct {
	cluster clusters.Cluster
	say     func(string)
}

// machines brings all nodes back. The undo scripts of running nodes come first: one of them may bring the API server back, which
// reports whether the others are Ready. At the end it waits for every node once more, because a node may become Ready only after
// its undo scripts have run.
func (h restorer) machines(ctx context.Context) error {
	var away, up, simulated []clusters.Node
	for _, n := range h.cluster.Nodes() { // control planes first
		if n.Role() == clusters.Simulated {
			simulated = append(simulated, n)
			continue
		}
		state, err := n.State(ctx)
		switch {
		case err != nil:
			return err
		case state == clusters.Running:
			up = append(up, n)
		default:
			away = append(away, n)
		}
	}
	errs := []error{h.undo(ctx, up)}
	for _, n := range away {
		errs = append(errs, h.revive(ctx, n))
	}
	errs = append(errs, h.undo(ctx, away), h.reviveSimulated(ctx, simulated)) // it is the API server that knows the simulated ones
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var group errgroup.Group // in parallel, because it is mostly waiting
	for _, n := range h.cluster.Nodes() {
		group.Go(func() error { return n.Start(ctx) }) // on a running node, Start waits until it is Ready
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%w; try once more, or remove the cluster with 'holdfast down %s'", err, h.cluster.Name())
	}
	return nil
}

// revive unpauses or starts a node. It returns an error only if the node does not run then. Whether the node becomes Ready is
// checked after all undo scripts have run.
func (h restorer) revive(ctx context.Context, n clusters.Node) error {
	state, err := n.State(ctx)
	if err != nil {
		return err
	}
	verb, does := n.Start, "started "
	if state == clusters.Paused {
		verb, does = n.Resume, "unpaused "
	}
	refused := verb(ctx)
	if now, err := n.State(ctx); err != nil || now != clusters.Running {
		return errors.Join(refused, err)
	}
	h.say(does + n.Name())
	return nil
}

// reviveSimulated starts the simulated nodes that are lost at the same time, as they were lost: each start waits until a lease is renewed, and a zone of a large
// cluster has more than a thousand nodes. Like revive, it returns an error only if a node does not run then: one for all of them.
func (h restorer) reviveSimulated(ctx context.Context, nodes []clusters.Node) error {
	if len(nodes) == 0 {
		return nil
	}
	err := poll.Until(ctx, "the API server to say how the simulated nodes are", serverLimit, func(ctx context.Context) (bool, string, error) {
		_, err := nodes[0].State(ctx)
		return err == nil, "", err
	})
	if err != nil {
		return err
	}
	var lost, started atomic.Int64
	var group errgroup.Group // not node.OnEach, which would return a thousand errors of an API server that is away
	for _, n := range nodes {
		group.Go(func() error {
			if now, err := n.State(ctx); err == nil && now == clusters.Running {
				return nil
			}
			lost.Add(1)
			refused := n.Start(ctx)
			if now, err := n.State(ctx); err != nil || now != clusters.Running {
				return errors.Join(refused, err)
			}
			started.Add(1)
			return nil
		})
	}
	err = group.Wait()
	count, of := int(started.Load()), int(lost.Load())
	if count > 0 {
		h.say("started " + prose.Count(count, "simulated node"))
	}
	if err != nil {
		return fmt.Errorf("start %s: %d do not run, one of them: %w", prose.Count(of, "simulated node"), of-count, err)
	}
	return nil
}

// undo runs the undo scripts that faults have stored on nodes.
func (h restorer) undo(ctx context.Context, nodes []clusters.Node) error {
	var errs []error
	for _, n := range nodes {
		if n.Role() == clusters.Simulated { // it keeps no undo scripts
			continue
		}
		did, err := node.RunUndos(ctx, n)
		for _, what := range did {
			h.say(what)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// quiet is the cluster's configuration without the API server's warnings about deprecated kinds.
func (h restorer) quiet() *rest.Config {
	config := h.cluster.Config()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// objects uncordons nodes, and removes the objects that are left in the API server.
func (h restorer) objects(ctx context.Context) error {
	client, err := kubernetes.NewForConfig(h.quiet())
	if err != nil {
		return err
	}
	err = poll.Until(ctx, "the API server to answer", serverLimit, func(ctx context.Context) (bool, string, error) {
		_, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{Limit: 1})
		return err == nil, "", err
	})
	if err != nil {
		return err
	}
	opened, err := fault.Uncordon(ctx, client)
	for _, name := range opened {
		h.say("uncordoned " + name)
	}
	if err != nil {
		return err
	}
	if err := h.outside(ctx, client.Discovery()); err != nil { // before namespaces: a namespace that is deleted while an aggregated API has no server stays Terminating
		return err
	}
	if err := h.namespaces(ctx, client); err != nil {
		return err
	}
	if err := AwaitIntact(ctx, client, h.cluster); err != nil {
		return fmt.Errorf("%w; holdfast does not change what no fault has changed: repair it with kubectl, or remove the cluster with 'holdfast down %s'", err, h.cluster.Name())
	}
	return nil
}

// namespaces empties and deletes the namespaces of scenarios.
func (h restorer) namespaces(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, n := range list.Items {
		ofScenario := strings.HasPrefix(n.Name, workloads.NamespacePrefix) || n.Labels[workloads.LabelComponent] == workloads.ComponentApp
		if !ofScenario || n.Labels[workloads.LabelPartOf] != workloads.PartOf {
			continue
		}
		if err := EmptyNamespace(ctx, client, &n); err != nil {
			return err
		}
		if n.Status.Phase != corev1.NamespaceTerminating {
			h.say("removed namespace " + n.Name)
		}
	}
	return nil
}

// outside removes the objects with holdfast's labels that are in no namespace of a scenario. It lists every kind that the API
// server knows.
func (h restorer) outside(ctx context.Context, server discovery.DiscoveryInterface) error {
	untyped, err := dynamic.NewForConfig(h.quiet())
	if err != nil {
		return err
	}
	lists, err := server.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // an APIService of a scenario may have no server any more
		return fmt.Errorf("ask what kinds there are: %w", err)
	}
	for _, list := range lists {
		group, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			continue
		}
		for _, r := range list.APIResources {
			if !slices.Contains(r.Verbs, "list") || !slices.Contains(r.Verbs, "delete") || r.Name == "namespaces" {
				continue
			}
			at := dynamic.ResourceInterface(untyped.Resource(group.WithResource(r.Name)))
			if r.Namespaced {
				at = untyped.Resource(group.WithResource(r.Name)).Namespace(metav1.NamespaceSystem)
			}
			if err := h.removeLabelled(ctx, at, r.Kind); err != nil {
				return err
			}
		}
	}
	return nil
}

// selectors match what scenarios and faults have created.
var selectors = []string{workloads.LabelPartOf + "=" + workloads.PartOf, manifests.AppliedBy}

func (h restorer) removeLabelled(ctx context.Context, at dynamic.ResourceInterface, kind string) error {
	for _, selector := range selectors {
		list, err := at.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err) {
			continue // the kind is being removed, or its server is away: its objects disappear with its APIService
		}
		if err != nil {
			return fmt.Errorf("list what is left of kind %s: %w", kind, err)
		}
		for _, o := range list.Items {
			if err := at.Delete(ctx, o.GetName(), metav1.DeleteOptions{}); err != nil && !apierrors.IsNotFound(err) {
				return fmt.Errorf("remove %s %s: %w", kind, o.GetName(), err)
			}
			h.say("removed " + kind + " " + o.GetName())
		}
	}
	return nil
}
