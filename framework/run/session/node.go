package session

import (
	"bytes"
	"context"
	"fmt"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/base/process"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// nodeLimit is how long a node may take to be reported as lost, and to be Ready again.
const nodeLimit = 3 * time.Minute

// killNode has the user's own command take the node away, and waits until the cluster has noticed.
func (i *injection) killNode(ctx context.Context) error {
	name := i.step.Node.Name
	i.say("  running the command disturb.nodeKill.command for node %s", name)
	if err := i.before(ctx); err != nil {
		return err
	}
	i.taken = true // also if the command fails: it may have done a part
	if err := OnNode(ctx, name, i.hook.Command); err != nil {
		return err
	}
	return i.node(ctx, "node "+name+" to be reported as lost", func(ready bool) bool { return !ready })
}

// bringBack has the user's own command bring the node back that another one has taken away.
func (i *injection) bringBack(ctx context.Context) error {
	if !i.taken {
		return nil
	}
	if err := OnNode(ctx, i.step.Node.Name, i.hook.Undo); err != nil {
		return err
	}
	i.taken = false
	return nil
}

// OnNode runs a command of the user's for a node, and ends what it leaves.
func OnNode(ctx context.Context, node, command string) error {
	var out bytes.Buffer
	if err := process.RunGroup(ctx, commandLimit, &out, withNode(node, command)...); err != nil {
		const most = 500
		return fmt.Errorf("run %q for node %s: %w: %s", command, node, err, out.Bytes()[max(0, out.Len()-most):])
	}
	return nil
}

// commandLimit bounds one command of the user's.
const commandLimit = 2 * time.Minute

// withNode is a command of the shell with a node's name in its environment, where the shell does not read it as a part of the command.
func withNode(name, command string) []string {
	return []string{"env", "NODE=" + name, "sh", "-c", command}
}

// nodeIsBack waits until the node that the step has taken is Ready.
func (i *injection) nodeIsBack(ctx context.Context) error {
	if i.step.Fault != catalogue.NodeKill.Name {
		return nil
	}
	return i.node(ctx, "node "+i.step.Node.Name+" to be Ready again", func(ready bool) bool { return ready })
}

func (i *injection) node(ctx context.Context, what string, is func(ready bool) bool) error {
	return poll.Until(ctx, what, nodeLimit, func(ctx context.Context) (bool, string, error) {
		n, err := i.client.CoreV1().Nodes().Get(ctx, i.step.Node.Name, metav1.GetOptions{})
		if err != nil {
			return false, "", err
		}
		status := corev1.ConditionUnknown
		for _, c := range n.Status.Conditions {
			if c.Type == corev1.NodeReady {
				status = c.Status
			}
		}
		return is(status == corev1.ConditionTrue), "its condition Ready is " + string(status), nil
	})
}
