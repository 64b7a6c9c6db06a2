package session

import (
	"context"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// nodeLimit is how long a node may take to be reported as lost, and to be Ready again.
const nodeLimit = 3 * time.Minute

// killNode has the user's own command take the node away, and waits until the cluster has noticed.
func (i *injection) killNode(ctx context.Context) error {
	name := i.step.Node.Name
	with := func(command string) []string { return withNode(name, command) }
	i.say("  running the command disturb.nodeKill.command for node %s", name)
	if err := i.do(ctx, disturb.Object{}, journal.RunCommand(with(i.hook.Command), with(i.hook.Undo))); err != nil {
		return err
	}
	return i.node(ctx, "node "+name+" to be reported as lost", func(ready bool) bool { return !ready })
}

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
