package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
	"github.com/holdfast-ha/holdfast/framework/fault/undo/healer"
	"github.com/holdfast-ha/holdfast/framework/load/workers"
	"github.com/holdfast-ha/holdfast/framework/run/session"
)

// Foreign heals a cluster that holdfast did not make: it undoes what runs have noted on the objects that they changed, and removes what is left of
// holdfast. It needs nothing of the machine on which the run was.
type Foreign struct {
	Access *existing.Access
	// BringBack is the user's own command of the shell that brings a node back which a killed run had taken away, with its name in $NODE. It comes from
	// the caller's file, and never from the cluster. Empty: such a node is an error.
	BringBack string
	Out       io.Writer

	client  kubernetes.Interface
	untyped dynamic.Interface
}

// connect makes the clients: of everything, or for reading alone.
func (f *Foreign) connect(reads bool) (err error) {
	config := undo.Limited(f.Access.Config(), mayHeal)
	if reads {
		config = f.Access.ReadOnly()
	}
	if f.client, err = kubernetes.NewForConfig(config); err == nil {
		f.untyped, err = dynamic.NewForConfig(config)
	}
	return err
}

// atHome are the verbs with which a heal changes holdfast's own objects in its namespace, by group and resource.
var atHome = map[string]string{
	"coordination.k8s.io/leases": "create update delete", "batch/jobs": "delete", "apps/deployments": "delete", "policy/poddisruptionbudgets": "delete",
}

// mayHeal reports whether a write is one that a heal has to send to objects of holdfast's own.
func mayHeal(p existing.Permission) bool {
	if p.Group == "" && p.Resource == "namespaces" && p.Subresource == "" {
		return p.Verb == "create" || p.Verb == "delete" && (p.Name == hold.Namespace || strings.HasPrefix(p.Name, hold.LoadPrefix))
	}
	return p.Namespace == hold.Namespace && p.Subresource == "" && slices.Contains(strings.Fields(atHome[p.Group+"/"+p.Resource]), p.Verb)
}

func (f *Foreign) say(format string, args ...any) {
	_, _ = fmt.Fprintln(f.Out, f.Access.Name()+": "+output.Line(fmt.Sprintf(format, args...)))
}

// found is what there is to heal.
type found struct {
	notes   []undo.Found
	broken  error    // annotations that are no notes
	expired []string // namespaces
	sight   hold.Sight
	home    bool // holdfast's own namespace is there, and is holdfast's to delete
	healer  bool // a healer was installed
	load    bool // a Job of load workers is there
}

func (f found) nothing() bool {
	return len(f.notes)+len(f.expired) == 0 && f.broken == nil && !f.sight.There && !f.home && !f.healer && !f.load
}

// look looks for what there is to heal. It only reads.
func (f *Foreign) look(ctx context.Context) (all found, err error) {
	if all.expired, err = hold.Expired(ctx, f.client, time.Now()); err != nil {
		return all, err
	}
	if all.sight, err = hold.NewWatch(f.client).Look(ctx); err != nil {
		return all, err
	}
	if all.notes, all.broken = f.find(ctx, all.sight.Namespaces); apierrors.IsForbidden(all.broken) {
		return all, all.broken
	}
	if all.home, err = hold.IsHome(ctx, f.client, hold.Namespace); err != nil {
		return all, err
	}
	if all.healer, err = healer.Installed(ctx, f.client, hold.Namespace); err != nil {
		return all, err
	}
	all.load, err = workers.Left(ctx, f.client, hold.Namespace)
	return all, err
}

// find looks for notes in all namespaces, or, where this user may not, in the run's namespaces, which the Lease names. Without a Lease no run has left
// anything, unless another client has deleted it: the context's namespace is looked at as far as this user may.
func (f *Foreign) find(ctx context.Context, ofRun []string) ([]undo.Found, error) {
	all, err := undo.Find(ctx, f.untyped, undo.Everywhere)
	if !apierrors.IsForbidden(err) {
		return all, err
	}
	namespaces := ofRun
	if len(namespaces) == 0 {
		namespaces = []string{f.Access.Namespace}
	}
	places := []undo.Place{{Resource: "nodes"}}
	for _, n := range namespaces {
		places = append(places, undo.Place{Resource: "deployments", Namespace: n}, undo.Place{Resource: "statefulsets", Namespace: n})
	}
	all, err = undo.Find(ctx, f.untyped, places)
	if apierrors.IsForbidden(err) && len(ofRun) == 0 {
		f.say("this user may not list workloads, so only nodes were looked at: name the namespace of the application with --namespace")
		return undo.Find(ctx, f.untyped, places[:1])
	}
	f.say("this user may not list workloads in all namespaces: looked on nodes, and in %s", prose.List(namespaces))
	return all, err
}

// DryRun says what Heal would do. It sends nothing but requests that read.
func (f Foreign) DryRun(ctx context.Context) error {
	if err := f.connect(true); err != nil {
		return err
	}
	all, err := f.look(ctx)
	if err != nil {
		return f.Access.Explain(err)
	}
	if all.nothing() {
		f.say("nothing to heal")
		return nil
	}
	if all.sight.There {
		f.say("the cluster is held by %s (%s; %s)", all.sight.Run, all.sight.Command, all.sight.Process)
	}
	for _, n := range all.notes {
		f.say("run %s: %s", n.Run, n.Preview())
	}
	for _, name := range all.expired {
		f.say("would remove namespace %s, whose time has passed", name)
	}
	if all.healer {
		f.say("would remove the healer")
	}
	if all.load {
		f.say("would remove the load workers")
	}
	if all.home {
		f.say("would remove namespace %s", hold.Namespace)
	}
	return all.broken
}

// Heal undoes and removes, and prints each action. It refuses a cluster that a run uses. A second Heal finds nothing.
func (f Foreign) Heal(ctx context.Context) error {
	if err := f.connect(false); err != nil {
		return err
	}
	all, err := f.look(ctx)
	if err != nil {
		return f.Access.Explain(err)
	}
	if all.nothing() {
		f.say("nothing to heal")
		return nil
	}
	held, err := hold.Take(ctx, f.client, "heal", self.CommandLine(), hold.Options{
		Cluster: f.Access.Name(), Foreign: true, Context: f.Access.Context, Heal: true, Namespaces: all.sight.Namespaces,
		Found: func(dead hold.Holder) { f.say("released the cluster from %s", dead.Run) },
		Waiting: func(who hold.Holder) {
			f.say("waiting %s for a sign of life from %s, which ran on another machine", hold.Silence, who.Run)
		},
	})
	if err != nil {
		return f.Access.Explain(err)
	}
	if err := errors.Join(all.broken, f.undo(ctx, all.sight.Namespaces)); err != nil {
		return errors.Join(err, held.Leave(ctx, "it could not be healed: "+err.Error()))
	}
	if err := f.tidy(ctx, all); err != nil {
		return errors.Join(err, held.Release(ctx))
	}
	removed, err := hold.RemoveHome(ctx, f.client, hold.Namespace)
	switch {
	case err != nil: // it does no harm, and its owner may want it
		f.say("namespace %s stays: %v", hold.Namespace, err)
		err = held.Release(ctx)
	case removed: // with the Lease in it
		held.Drop()
		f.say("removed namespace %s", hold.Namespace)
	default:
		err = held.Release(ctx)
	}
	if err != nil {
		return err
	}
	f.say("healed")
	return nil
}

// undo undoes what is noted now that the cluster is held: since the first look, a healer may have undone it.
func (f *Foreign) undo(ctx context.Context, ofRun []string) error {
	all, err := f.find(ctx, ofRun)
	errs := []error{err}
	for _, n := range all {
		if n.Field == undo.Command {
			if f.BringBack == "" {
				errs = append(errs, fmt.Errorf("a command of run %s has taken node %s away, and no command is run that the cluster names: add --app FILE, whose disturb.nodeKill.undo "+
					"brings nodes back, or bring it back yourself and remove its annotation %s", n.Run, n.Name, undo.Annotation))
				continue
			}
			f.say("run %s: running disturb.nodeKill.undo for node %s", n.Run, n.Name)
			if err := session.OnNode(ctx, n.Name, f.BringBack); err != nil {
				errs = append(errs, err)
				continue
			}
		}
		out, err := n.Undo(ctx, f.untyped)
		if err == nil {
			f.say("run %s: %s", n.Run, out)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// tidy removes what is left of holdfast: namespaces whose time has passed, load workers, and the healer.
func (f *Foreign) tidy(ctx context.Context, all found) error {
	expired, err := hold.RemoveExpired(ctx, f.client, time.Now())
	for _, name := range expired {
		f.say("removed namespace %s, whose time had passed", name)
	}
	if all.load {
		if gone := workers.Remove(ctx, f.client, hold.Namespace); gone != nil {
			err = errors.Join(err, gone)
		} else {
			f.say("removed the load workers")
		}
	}
	if all.healer {
		removed, lost := healer.Remove(ctx, f.client, hold.Namespace, "")
		for _, what := range removed {
			f.say("removed %s of the healer", what)
		}
		err = errors.Join(err, lost)
	}
	return err
}
