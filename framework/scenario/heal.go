package scenario

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
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
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/fault/node"
	"github.com/holdfast-ha/holdfast/framework/poll"
	"github.com/holdfast-ha/holdfast/workloads"
)

// serverLimit bounds how long an API server may take to answer once its machine runs and what kept it away is undone. One whose
// etcd had been away was seen to take three minutes and twenty seconds: see suites/chaos/etcd_away.go.
const serverLimit = 5 * time.Minute

// Heal undoes what a harness that was killed has left of its faults and its scenario in a cluster: it thaws and starts
// machines, runs the undos that are left on them, opens the nodes that a fault has closed, and removes namespaces and whatever
// else carries our label. It says what it did, a line each, and nothing where there was nothing to do; and returns when every
// node is Ready and what serves the cluster itself is available, or says what keeps it from being so. It must not be called
// while a run uses the cluster.
func Heal(ctx context.Context, cluster clusters.Cluster, say func(string)) error {
	h := healer{cluster: cluster, say: say}
	if err := h.machines(ctx); err != nil {
		return fmt.Errorf("heal cluster %s: %w", cluster.Name(), err)
	}
	if err := h.objects(ctx); err != nil {
		return fmt.Errorf("heal cluster %s: %w", cluster.Name(), err)
	}
	return nil
}

type healer struct {
	cluster clusters.Cluster
	say     func(string)
}

// machines brings all machines back. The undos of those that run come first: one of them may be what brings the API server
// back, without which no other can be seen Ready. A machine that came back late, or not Ready because of what is left on it, is
// looked at again when that is undone.
func (h healer) machines(ctx context.Context) error {
	var away, up []clusters.Node
	for _, n := range h.cluster.Nodes() { // control planes first
		state, err := n.State(ctx)
		if err != nil {
			return err
		}
		if state == clusters.Running {
			up = append(up, n)
		} else {
			away = append(away, n)
		}
	}
	errs := []error{h.undo(ctx, up)}
	for _, n := range away {
		errs = append(errs, h.revive(ctx, n))
	}
	errs = append(errs, h.undo(ctx, away))
	if err := errors.Join(errs...); err != nil {
		return err
	}
	var group errgroup.Group // not one by one: it is mostly waiting, and each node may have been away
	for _, n := range h.cluster.Nodes() {
		group.Go(func() error { return n.Start(ctx) }) // of a machine that runs, it waits until it is back
	}
	if err := group.Wait(); err != nil {
		return fmt.Errorf("%w; try once more, or remove the cluster with 'holdfast down %s'", err, h.cluster.Name())
	}
	return nil
}

// revive thaws or starts a machine. That it does not come back all the way is said later, when all is undone; that it does not
// even run, at once.
func (h healer) revive(ctx context.Context, n clusters.Node) error {
	state, err := n.State(ctx)
	if err != nil {
		return err
	}
	verb, does := n.Start, "started "
	if state == clusters.Paused {
		verb, does = n.Resume, "thawed "
	}
	refused := verb(ctx)
	if now, err := n.State(ctx); err != nil || now != clusters.Running {
		return errors.Join(refused, err)
	}
	h.say(does + n.Name())
	return nil
}

// undo runs what faults have left on nodes.
func (h healer) undo(ctx context.Context, nodes []clusters.Node) error {
	var errs []error
	for _, n := range nodes {
		did, err := node.RunUndos(ctx, n)
		for _, what := range did {
			h.say(what)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// quiet reaches the API server, and keeps to itself which of all kinds are deprecated.
func (h healer) quiet() *rest.Config {
	config := h.cluster.Config()
	config.WarningHandlerWithContext = rest.NoWarnings{}
	return config
}

// objects removes what is left in the API server, and opens nodes.
func (h healer) objects(ctx context.Context) error {
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
	if err := h.outside(ctx, client.Discovery()); err != nil { // before namespaces: see stage.clear
		return err
	}
	if err := h.namespaces(ctx, client); err != nil {
		return err
	}
	st := &stage{cluster: h.cluster, client: client}
	if err := st.intact(ctx); err != nil {
		return fmt.Errorf("%w; what no fault did is left alone: mend it with kubectl, or remove the cluster with 'holdfast down %s'", err, h.cluster.Name())
	}
	return nil
}

// namespaces empties and deletes those of scenarios.
func (h healer) namespaces(ctx context.Context, client kubernetes.Interface) error {
	list, err := client.CoreV1().Namespaces().List(ctx, metav1.ListOptions{})
	if err != nil {
		return fmt.Errorf("list namespaces: %w", err)
	}
	for _, n := range list.Items {
		if !strings.HasPrefix(n.Name, namespacePrefix) || n.Labels[workloads.LabelPartOf] != workloads.PartOf {
			continue
		}
		st := &stage{cluster: h.cluster, client: client, namespace: n.Name}
		if err := st.emptyThis(ctx, &n); err != nil {
			return err
		}
		if n.Status.Phase != corev1.NamespaceTerminating {
			h.say("removed namespace " + n.Name)
		}
	}
	return nil
}

// outside removes whatever carries our label and lies in no namespace of a scenario: all kinds that the API server knows are
// asked for, so that nobody has to remember them.
func (h healer) outside(ctx context.Context, server discovery.DiscoveryInterface) error {
	untyped, err := dynamic.NewForConfig(h.quiet())
	if err != nil {
		return err
	}
	lists, err := server.ServerPreferredResources()
	if err != nil && !discovery.IsGroupDiscoveryFailedError(err) { // an APIService of ours may have no server any more
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

// ours selects what a scenario or one of its faults has made.
var ours = []string{workloads.LabelPartOf + "=" + workloads.PartOf, fault.EnforcedBy}

func (h healer) removeLabelled(ctx context.Context, at dynamic.ResourceInterface, kind string) error {
	for _, selector := range ours {
		list, err := at.List(ctx, metav1.ListOptions{LabelSelector: selector})
		if apierrors.IsNotFound(err) || apierrors.IsMethodNotSupported(err) || apierrors.IsServiceUnavailable(err) {
			continue // a kind that is going, or whose server is away: what is of it goes with its APIService
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
