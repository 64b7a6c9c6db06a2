package session

import (
	"context"
	"time"

	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/process"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// config is for clients that read, and write what the plan prints: holdfast's own objects, and what the step touches; nil: nothing else.
func (s *Session) config(step *disturb.Step) *rest.Config {
	return existing.Limited(s.options.Access.Config(), func(p existing.Permission) bool { return planned(s.Plan.Own, step, p) })
}

func (s *Session) client(step *disturb.Step) (kubernetes.Interface, error) {
	return kubernetes.NewForConfig(s.config(step))
}

// planned reports whether a plan prints a write.
func planned(own []disturb.Own, step *disturb.Step, p existing.Permission) bool {
	for _, o := range own {
		does := existing.Permission{Verb: o.Verb, Group: o.Group, Resource: o.Resource, Subresource: o.Subresource, Namespace: o.Namespace, Name: p.Name}
		if does == p {
			return true
		}
		if o.Subresource == "proxy" && p.Verb == "get" { // who may send a pod requests that change something, may also look
			does.Verb = "get"
			if does == p {
				return true
			}
		}
	}
	if step == nil {
		return false
	}
	for _, t := range step.Touches {
		does := existing.Permission{Verb: t.Verb, Group: t.Group, Resource: t.Resource, Subresource: t.Subresource, Namespace: t.Object.Namespace, Name: t.Object.Name}
		if does == p {
			return true
		}
	}
	return false
}

// hookLimit bounds the commands before and after the run.
const hookLimit = 10 * time.Minute

// shell runs a command of the user's.
func (s *Session) shell(ctx context.Context, command string) error {
	return process.RunGroup(ctx, hookLimit, s.options.Out, "sh", "-c", command)
}
