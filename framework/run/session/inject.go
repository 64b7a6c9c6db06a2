package session

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"time"

	policyv1 "k8s.io/api/policy/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// lasting is how long a fault stays that ends no pod by itself, such as a cordoned node or a node that is away.
const lasting = 15 * time.Second

// injection is one step while it is done.
type injection struct {
	step      disturb.Step
	run       string
	hook      disturb.Hook
	client    kubernetes.Interface
	evictions kubernetes.Interface // can read and evict, and writes evictions down
	journal   *journal.Journal
	say       func(format string, args ...any)
	announced []disturb.Object
	before    func(context.Context) error // says why the next write must not be made: an unsteadyError, or that it is not known
	nodes     []types.UID                 // all that there were before the first write
}

// unsteadyError means that the cluster is not as it must be for the next write.
type unsteadyError string

func (e unsteadyError) Error() string { return "nothing more is done: " + string(e) }

// inject makes each write of the step, in order.
func (i *injection) inject(ctx context.Context) error {
	for _, t := range i.step.Touches {
		if err := i.announce(ctx, t); err != nil {
			return err
		}
		if err := i.touch(ctx, t); err != nil {
			return fmt.Errorf("%s: %s: %w", t.Object, t.Does, err)
		}
		i.say("  done: %s: %s", t.Object, t.Does)
	}
	if i.step.Fault == catalogue.NodeKill.Name {
		if err := i.killNode(ctx); err != nil {
			return err
		}
	}
	i.say("  in force")
	if i.step.Fault == catalogue.Cordon.Name || i.step.Fault == catalogue.NodeKill.Name {
		return poll.Pass(ctx, lasting)
	}
	return nil
}

// calm returns an error if a node is not as it should be that the step does not disturb: a drain takes minutes, and the cluster may lose another node
// meanwhile. One that joins meanwhile is not Ready at first.
func (i *injection) calm(ctx context.Context) error {
	nodes, err := i.client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"}) // from memory: it is asked before each attempt of an eviction
	if err != nil {
		return fmt.Errorf("look whether all other nodes are Ready: %w", err)
	}
	first := i.nodes == nil
	for _, n := range nodes.Items {
		if first {
			i.nodes = append(i.nodes, n.UID)
		}
		if why := disturb.Unsteady(&n); why != "" && slices.Contains(i.nodes, n.UID) && (i.step.Node == nil || n.UID != i.step.Node.UID) {
			return unsteadyError("node " + n.Name + ": " + why)
		}
	}
	return nil
}

// touch makes one write: to the object, and the object alone, whose UID the plan has.
func (i *injection) touch(ctx context.Context, t disturb.Touch) error {
	o := t.Object
	workload := journal.Workload(t.Resource, o.Namespace, o.Name)
	switch {
	case t.Subresource == "eviction":
		return i.evict(ctx, o)
	case t.Resource == "nodes" && t.Field == "spec.unschedulable":
		return i.do(ctx, o, journal.Cordon(o.Name))
	case t.Resource == "nodes":
		return i.do(ctx, o, catalogue.Mark(o.Name, i.run))
	case t.Subresource == "scale":
		return i.scale(ctx, o, workload, t.Ours)
	case t.Field == catalogue.Rollout.Edits:
		if err := i.do(ctx, o, journal.Restart(workload, time.Now())); err != nil {
			return err
		}
		return i.settled(ctx)
	}
	return fmt.Errorf("no way is known to %s %s/%s", t.Verb, t.Resource, t.Subresource)
}

func (i *injection) do(ctx context.Context, o disturb.Object, c journal.Change) error {
	if err := i.before(ctx); err != nil {
		return err
	}
	c.UID = o.UID
	_, err := i.journal.Do(ctx, c)
	return err
}

// scale goes through the numbers of the plan: one more, back by an undo, and one less.
func (i *injection) scale(ctx context.Context, o disturb.Object, workload journal.Object, through []string) error {
	for k, number := range through {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if k%2 == 1 { // the former number
			err = i.journal.Undo(ctx)
		} else {
			err = i.do(ctx, o, journal.Scale(workload, n))
		}
		if err := errors.Join(err, i.settled(ctx)); err != nil {
			return err
		}
		i.say("  done: scaled to %s", number)
	}
	return nil
}

// evict evicts a pod, as often as its budget refuses, and waits until it is gone and the workload is whole again. A pod that is gone already needs none.
func (i *injection) evict(ctx context.Context, o disturb.Object) error {
	var unsteady error
	err := poll.Until(ctx, "pod "+o.Name+" to be evicted", i.step.Box.Duration, func(ctx context.Context) (bool, string, error) {
		now, err := i.client.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
		switch {
		case apierrors.IsNotFound(err), err == nil && now.UID != o.UID:
			whole, saw, err := i.whole(ctx)
			return whole, saw, err
		case err != nil:
			return false, "", err
		case now.DeletionTimestamp != nil:
			return false, "it is ending", nil
		}
		if err = i.before(ctx); errors.As(err, new(unsteadyError)) {
			unsteady = err
			return true, "", nil
		} else if err != nil {
			return false, "", err
		}
		err = i.evictions.PolicyV1().Evictions(o.Namespace).Evict(ctx, &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name}})
		if apierrors.IsTooManyRequests(err) {
			return false, "its budget refuses", nil
		}
		return false, "evicted", err
	})
	return cmp.Or(unsteady, err)
}

// undo undoes the step, waits until the workload is whole again, and returns an error for a field that is not as it was and that nothing explains.
func (i *injection) undo(ctx context.Context) error {
	if len(i.journal.Entries()) == 0 { // nothing was written down, and so nothing done
		return nil
	}
	i.say("  undoing it")
	if err := i.journal.Undo(ctx); err != nil {
		return err
	}
	if err := errors.Join(i.nodeIsBack(ctx), i.settled(ctx)); err != nil {
		i.say("  %v", err) // which the record shows, and is no change of ours
	}
	differences, err := i.journal.Differences(ctx)
	for _, d := range differences {
		i.say("  differs: %s", d)
		if d.Why == "" {
			err = errors.Join(err, errors.New(d.String()))
		}
	}
	for _, unread := range i.journal.Unread() {
		i.say("  not compared: %s", unread)
	}
	for _, e := range i.journal.Entries() {
		if e.State == journal.Left {
			i.say("  left as it is: %s: %s", e, e.Why)
		}
	}
	if err = errors.Join(err, i.journal.Clear(ctx)); err != nil {
		return err
	}
	i.announceUndone(ctx)
	i.say("  undone")
	return nil
}
