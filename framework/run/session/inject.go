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
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
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
	changes   *undo.Changes
	evicted   bool // a pod
	taken     bool // the node, by the user's command
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
	if t.Subresource == "eviction" {
		return i.evict(ctx, t.Object)
	}
	o := undo.Object{Resource: t.Resource, Namespace: t.Object.Namespace, Name: t.Object.Name, UID: t.Object.UID}
	switch field := undo.Field(t.Field); field {
	case undo.Unschedulable:
		return i.do(ctx, undo.Cordon(o))
	case undo.Command:
		return i.do(ctx, undo.Take(o))
	case undo.Replicas:
		return i.scale(ctx, o, t.Ours)
	case undo.Restarted:
		if err := i.do(ctx, undo.Restart(o, time.Now())); err != nil {
			return err
		}
		return i.settled(ctx)
	}
	return fmt.Errorf("no way is known to %s %s of %s", t.Verb, t.Field, t.Resource)
}

func (i *injection) do(ctx context.Context, c undo.Change) error {
	if err := i.before(ctx); err != nil {
		return err
	}
	return i.changes.Do(ctx, c)
}

// scale goes through the numbers of the plan: one more, back by an undo, and one less.
func (i *injection) scale(ctx context.Context, workload undo.Object, through []string) error {
	for k, number := range through {
		n, err := strconv.Atoi(number)
		if err != nil {
			return err
		}
		if k%2 == 1 { // the former number
			err = i.putBack(ctx)
		} else {
			err = i.do(ctx, undo.Scale(workload, n))
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
		err = i.client.PolicyV1().Evictions(o.Namespace).Evict(ctx, &policyv1.Eviction{
			ObjectMeta:    metav1.ObjectMeta{Namespace: o.Namespace, Name: o.Name},
			DeleteOptions: &metav1.DeleteOptions{Preconditions: &metav1.Preconditions{UID: &o.UID}},
		})
		if apierrors.IsTooManyRequests(err) {
			return false, "its budget refuses", nil
		}
		i.evicted = true
		return false, "evicted", err
	})
	return cmp.Or(unsteady, err)
}

// undo undoes the step, and waits until the workload is whole again.
func (i *injection) undo(ctx context.Context) error {
	if !i.changes.Made() && !i.evicted && !i.taken { // nothing was done
		return nil
	}
	i.say("  undoing it")
	if err := errors.Join(i.bringBack(ctx), i.putBack(ctx)); err != nil {
		return err
	}
	if err := errors.Join(i.nodeIsBack(ctx), i.settled(ctx)); err != nil {
		i.say("  %v", err) // which the record shows, and is no change of ours
	}
	i.announceUndone(ctx)
	i.say("  undone")
	return nil
}

// putBack undoes the changes of fields, and names those that another client has changed since.
func (i *injection) putBack(ctx context.Context) error {
	if i.taken { // the note stays until the node is back
		return nil
	}
	left, err := i.changes.Undo(ctx)
	for _, l := range left {
		i.say("  %s", l)
	}
	return err
}
