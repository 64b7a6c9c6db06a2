package scaling

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"golang.org/x/sync/errgroup"
	"k8s.io/client-go/kubernetes"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/observe"
	"github.com/holdfast-ha/holdfast/framework/run/restore"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Constraint is a way to constrain where pods go.
type Constraint struct {
	Name     string
	Spread   []workloads.Spread
	Affinity []workloads.Affinity
	// Bare pods have no controller. The scheduler gives pods of a ReplicaSet that have no spread of their own a soft spread over nodes and zones,
	// and bare pods none.
	//
	// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/#internal-default-constraints
	Bare bool
}

// Constraints are those that are compared. The first has no constraint at all.
func Constraints() []Constraint {
	soft := func(key string) workloads.Spread {
		return workloads.Spread{Key: key, Unsatisfiable: workloads.ScheduleAnyway}
	}
	hard := func(key string) workloads.Spread { return workloads.Spread{Key: key} }
	return []Constraint{
		{Name: "none", Spread: workloads.NoSpread, Bare: true},
		{Name: "scheduler's default", Spread: workloads.NoSpread},
		{Name: "soft spread", Spread: []workloads.Spread{soft(workloads.Zone), soft(workloads.Host)}},
		{Name: "hard spread", Spread: []workloads.Spread{hard(workloads.Zone)}},
		{Name: "layered spread", Spread: []workloads.Spread{hard(workloads.Zone), hard(workloads.Host)}},
		{Name: "anti-affinity", Spread: workloads.NoSpread, Affinity: []workloads.Affinity{{Key: workloads.Host, Away: true}}, Bare: true},
	}
}

// Binding is what it took to bind pods with one constraint.
type Binding struct {
	Constraint string
	Pods       int
	Scheduler  Scheduler
	// Recorded is the mean time from when a pod was seen to exist until it was seen to have a node, in seconds, by a record of the watches. It is
	// that of the pods which were seen without a node.
	Recorded float64
	// Unseen is how many pods had a node when the record first saw them.
	Unseen int
	// Gaps is how often a watch may have missed something.
	Gaps int
	// Replaced is how many pods were bound in place of others that ended meanwhile, on nodes that were lost.
	Replaced int
}

// bindLimit bounds the binding of the pods.
const bindLimit = 15 * time.Minute

// Bind creates pods on simulated nodes, waits until the scheduler has bound all of them, and removes them again. The record is written below dir.
func Bind(ctx context.Context, c clusters.Cluster, how Constraint, pods int, dir string) (b Binding, err error) {
	b = Binding{Constraint: how.Name, Pods: pods}
	client, err := kubernetes.NewForConfig(c.Config())
	if err != nil {
		return b, err
	}
	name := workloads.NamespacePrefix + "scaling"
	namespace, err := client.CoreV1().Namespaces().Create(ctx, workloads.Namespace(name), metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return b, fmt.Errorf("create namespace %s: %w: a measurement that was killed has left it, and 'holdfast heal %s' removes it", name, err, c.Name())
	}
	if err != nil {
		return b, fmt.Errorf("create namespace %s: %w", name, err)
	}
	defer func() {
		err = errors.Join(err, remove(context.WithoutCancel(ctx), client, namespace)) // also after an interrupt: each of its waits has a limit of its own
	}()
	writer, err := history.Create(dir, history.Header{RunID: filepath.Base(dir), Scenario: "scaling/" + name, Base: time.Now(), Samples: history.SamplesOfItself})
	if err != nil {
		return b, err
	}
	watcher, err := observe.Start(ctx, client, observe.Scope{Namespaces: []string{name}}, writer)
	if err != nil {
		return b, errors.Join(err, writer.Close())
	}
	before, err := AskScheduler(ctx, c.Nodes()[0])
	if err == nil {
		err = bindAll(ctx, client, how, pods, name)
	}
	if stopped := watcher.Stop(); err == nil {
		err = stopped
	}
	if closed := writer.Close(); err == nil {
		err = closed
	}
	if err != nil {
		return b, fmt.Errorf("bind %d pods with %s: %w", pods, how.Name, err)
	}
	after, err := AskScheduler(ctx, c.Nodes()[0])
	if err != nil {
		return b, err
	}
	if b.Scheduler, err = Since(before, after, pods); err != nil {
		return b, fmt.Errorf("bind %d pods with %s: %w", pods, how.Name, err)
	}
	return b, b.read(dir)
}

// Since is what the scheduler did between two looks, when it had so many pods to bind. The counts of a scheduler that was started again meanwhile
// begin at zero, and their differences mean nothing.
func Since(before, after Scheduler, pods int) (Scheduler, error) {
	s := after.Less(before)
	if n := s.Attempt.Count; n < float64(pods) {
		return Scheduler{}, fmt.Errorf("the scheduler has counted %.0f of %d pods that it was to bind: it was started again meanwhile, or did not bind all of them; measure again", max(0, n), pods)
	}
	return s, nil
}

// remove removes a namespace with everything in it, and waits until it is gone: the next one has its name.
func remove(ctx context.Context, client kubernetes.Interface, n *corev1.Namespace) error {
	if err := restore.EmptyNamespace(ctx, client, n); err != nil {
		return err
	}
	return poll.Until(ctx, "namespace "+n.Name+" to be gone", bindLimit, func(ctx context.Context) (bool, string, error) {
		_, err := client.CoreV1().Namespaces().Get(ctx, n.Name, metav1.GetOptions{})
		if apierrors.IsNotFound(err) {
			return true, "", nil
		}
		return false, "it is still there", err
	})
}

// bindAll creates a Deployment without a Service or a budget, or its pods alone, and waits until every pod has a node.
func bindAll(ctx context.Context, client kubernetes.Interface, how Constraint, pods int, namespace string) error {
	backend := workloads.Backend{
		Name: "scaling", Replicas: int32(pods), Spread: how.Spread, Affinity: how.Affinity, Simulated: true,
		PreStop: workloads.NoPreStop, Readiness: workloads.NoReadiness, Budget: workloads.NoBudget,
	}
	objects, err := backend.Objects(workloads.Place{Namespace: namespace, Image: "simulated:1"})
	if err != nil {
		return err
	}
	for _, o := range objects {
		d, is := o.(*appsv1.Deployment)
		switch {
		case is && how.Bare:
			err = createBare(ctx, client, d.Spec.Template, pods, namespace)
		case is:
			_, err = client.AppsV1().Deployments(namespace).Create(ctx, d, metav1.CreateOptions{})
		}
		if err != nil {
			return fmt.Errorf("create pods: %w", err)
		}
	}
	return poll.Until(ctx, "every pod to be bound", bindLimit, func(ctx context.Context) (bool, string, error) {
		list, err := client.CoreV1().Pods(namespace).List(ctx, metav1.ListOptions{FieldSelector: "spec.nodeName!=", ResourceVersion: "0"})
		if err != nil {
			return false, "", err
		}
		bound := 0
		for _, p := range list.Items {
			if p.DeletionTimestamp == nil { // one on a node that was lost stays until its node is back, beside the pod in its place
				bound++
			}
		}
		return bound == pods, fmt.Sprintf("%d of %d are, and %d others are being deleted", bound, pods, len(list.Items)-bound), nil
	})
}

// creators is how many pods are created at the same time. Those of a ReplicaSet come faster, and wait longer for the scheduler.
const creators = 8

// createBare creates pods from a template, without a controller.
func createBare(ctx context.Context, client kubernetes.Interface, template corev1.PodTemplateSpec, pods int, namespace string) error {
	group, ctx := errgroup.WithContext(ctx)
	group.SetLimit(creators)
	for i := range pods {
		group.Go(func() error {
			p := &corev1.Pod{ObjectMeta: *template.ObjectMeta.DeepCopy(), Spec: *template.Spec.DeepCopy()}
			p.Name = fmt.Sprintf("scaling-%d", i)
			_, err := client.CoreV1().Pods(namespace).Create(ctx, p, metav1.CreateOptions{})
			return err
		})
	}
	return group.Wait()
}

// read takes from the record how soon the pods were bound.
func (b *Binding) read(dir string) error {
	run, err := history.Open(dir)
	if err != nil {
		return err
	}
	if run.Incomplete != "" {
		return fmt.Errorf("read the record: %s", run.Incomplete)
	}
	added, bound := map[string]history.Offset{}, map[string]bool{}
	var took history.Offset
	for _, e := range run.Events {
		if e.Gap != nil {
			b.Gaps++
		}
		p := e.Pod
		if p == nil || p.Change == history.Deleted {
			continue
		}
		if p.Node != "" && !bound[p.UID] {
			bound[p.UID] = true
			if since, known := added[p.UID]; known {
				took += e.T - since
			} else {
				b.Unseen++
			}
		}
		if _, known := added[p.UID]; !known {
			added[p.UID] = e.T
		}
	}
	if len(bound) < b.Pods {
		return fmt.Errorf("read the record: it has %d bindings, and %d pods were bound", len(bound), b.Pods)
	}
	b.Replaced = len(bound) - b.Pods
	if seen := len(bound) - b.Unseen; seen > 0 {
		b.Recorded = took.Seconds() / float64(seen)
	}
	return nil
}
