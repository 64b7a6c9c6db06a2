package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/journal"
)

// errCordoned keeps us from uncordoning later what was cordoned by something else.
var errCordoned = errors.New("node is already cordoned, and not by holdfast")

// edits are the changes that a fault makes through the journal.
type edits struct {
	target Target

	mu   sync.Mutex
	made map[string][]int // their numbers in the journal, by the object's name; some may not have been made
}

func (t Target) edits() *edits { return &edits{target: t, made: map[string][]int{}} }

// make makes a change. It is no error if an earlier attempt of this fault has made it, and its answer was lost.
func (c *edits) make(ctx context.Context, change journal.Change) error {
	e, err := c.target.Journal.Do(ctx, change)
	c.mu.Lock()
	defer c.mu.Unlock()
	name := change.Object.Name
	if journal.IsAlready(err) && len(c.made[name]) > 0 {
		return nil
	}
	if e.Seq > 0 {
		c.made[name] = append(c.made[name], e.Seq)
	}
	if err != nil && e.State == journal.SeenUndone && !apierrors.IsForbidden(err) { // it was refused for good
		return &FinalError{err}
	}
	return err
}

// undo undoes the changes of some objects, or of all if none is named. What somebody else has changed since is left, and is an error.
func (c *edits) undo(ctx context.Context, names ...string) error {
	c.mu.Lock()
	var seqs []int
	for name, made := range c.made {
		if len(names) == 0 || slices.Contains(names, name) {
			seqs = append(seqs, made...)
		}
	}
	c.mu.Unlock()
	errs := []error{c.target.Journal.UndoOnly(ctx, seqs...)}
	for _, e := range c.target.Journal.Entries() {
		if slices.Contains(seqs, e.Seq) && e.State == journal.Left {
			errs = append(errs, fmt.Errorf("%s: it is left as it is: %s", e.What, e.Why))
		}
	}
	return errors.Join(errs...)
}

// cordon cordons a node, and reads it back. To cordon a cordoned node is an error, unless this fault has cordoned it.
func (c *edits) cordon(ctx context.Context, name string) error {
	err := c.make(ctx, journal.Cordon(name))
	if journal.IsAlready(err) {
		return fmt.Errorf("cordon %s: %w", name, errCordoned)
	}
	if err != nil {
		return err
	}
	return c.target.readBack(ctx, name, true)
}

// uncordon uncordons those of some nodes that this fault has cordoned, and reads them back. A node that cannot be uncordoned does not keep the others
// cordoned.
func (c *edits) uncordon(ctx context.Context, names ...string) error {
	errs := []error{c.undo(ctx, names...)}
	for _, name := range names {
		c.mu.Lock()
		ours := len(c.made[name]) > 0
		c.mu.Unlock()
		if ours {
			errs = append(errs, c.target.readBack(ctx, name, false))
		}
	}
	return errors.Join(errs...)
}

// readBack is an error unless a node is as it should be.
func (t Target) readBack(ctx context.Context, name string, cordoned bool) error {
	node, err := t.Client.CoreV1().Nodes().Get(ctx, name, metav1.GetOptions{})
	if err == nil && node.Spec.Unschedulable != cordoned {
		err = fmt.Errorf("the API server still returns unschedulable=%t", !cordoned)
	}
	if err != nil {
		return fmt.Errorf("set %s unschedulable=%t: %w", name, cordoned, err)
	}
	return nil
}

// checkSchedulable is an error if a node is cordoned already.
func (t Target) checkSchedulable(ctx context.Context, nodes []clusters.Node) error {
	for _, n := range nodes {
		node, err := t.Client.CoreV1().Nodes().Get(ctx, n.Name(), metav1.GetOptions{})
		if err == nil && node.Spec.Unschedulable {
			err = errCordoned
		}
		if err != nil {
			return fmt.Errorf("cordon %s: %w", n.Name(), err)
		}
	}
	return nil
}
