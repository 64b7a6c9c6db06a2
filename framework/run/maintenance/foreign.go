package maintenance

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/journal"
	"github.com/holdfast-ha/holdfast/framework/fault/journal/healer"
	"github.com/holdfast-ha/holdfast/framework/load/workers"
)

// Foreign heals a cluster that holdfast did not make: it undoes what runs have written down in their journals there, and removes what is left of
// holdfast. It needs nothing of the machine on which the run was.
type Foreign struct {
	Access *existing.Access
	// Commands allows running the commands of journals that undo commands of the user's.
	Commands bool
	// File is the local copy of a journal whose ConfigMap is gone; empty: the ConfigMaps are read.
	File string
	Out  io.Writer

	client  kubernetes.Interface
	untyped dynamic.Interface
}

// connect makes the clients: of everything, or for reading alone.
func (f *Foreign) connect(reads bool) (err error) {
	config := existing.Limited(f.Access.Config(), mayHeal)
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
	"coordination.k8s.io/leases": "create update delete", "/configmaps": "patch delete", "batch/jobs": "delete", "apps/deployments": "delete",
	"policy/poddisruptionbudgets": "delete",
}

// mayHeal reports whether a write is one that a heal has to send: to objects of holdfast's own, and to fields that a run changes. Who heals has more
// rights than who may write a journal.
func mayHeal(p existing.Permission) bool {
	switch {
	case p.Group == "" && p.Resource == "namespaces" && p.Subresource == "":
		return p.Verb == "create" || p.Verb == "delete" && (p.Name == hold.Namespace || strings.HasPrefix(p.Name, hold.LoadPrefix))
	case p.Verb == "patch" && journal.Object{Group: p.Group, Version: "v1", Resource: p.Resource, Subresource: p.Subresource}.Settable():
		return true
	}
	return p.Namespace == hold.Namespace && p.Subresource == "" && slices.Contains(strings.Fields(atHome[p.Group+"/"+p.Resource]), p.Verb)
}

func (f *Foreign) where() journal.Where {
	w := journal.Where{Client: f.client, Dynamic: f.untyped}
	if f.Commands {
		w.Commands = func(run string, argv []string) { f.say("run %s: running the command %q", run, argv) }
	}
	return w
}

func (f *Foreign) say(format string, args ...any) {
	_, _ = fmt.Fprintln(f.Out, f.Access.Name()+": "+output.Line(fmt.Sprintf(format, args...)))
}

// found is what there is to heal.
type found struct {
	journals []*journal.Journal
	expired  []string // namespaces
	sight    hold.Sight
	home     bool // holdfast's own namespace is there, and is holdfast's to delete
	healer   bool // a healer was installed
	load     bool // a Job of load workers is there
}

func (f found) nothing() bool {
	return len(f.journals)+len(f.expired) == 0 && !f.sight.There && !f.home && !f.healer && !f.load
}

// look looks for what there is to heal. It only reads.
func (f *Foreign) look(ctx context.Context) (all found, err error) {
	if all.journals, err = f.journals(ctx); err != nil && len(all.journals) == 0 { // otherwise one of several cannot be read, and Heal says so again
		return all, err
	}
	if all.expired, err = hold.Expired(ctx, f.client, time.Now()); err != nil {
		return all, err
	}
	if all.sight, err = hold.NewWatch(f.client).Look(ctx); err != nil {
		return all, err
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

// journals are those in the cluster, or the one in the file.
func (f *Foreign) journals(ctx context.Context) ([]*journal.Journal, error) {
	all, err := journal.Find(ctx, f.where())
	if f.File == "" {
		return all, err
	}
	j, err := journal.FromFile(ctx, f.File, f.where())
	if err != nil {
		return nil, err
	}
	if slices.ContainsFunc(all, func(other *journal.Journal) bool { return other.Header().Run == j.Header().Run }) {
		return nil, fmt.Errorf("the journal of run %s is in the cluster, and newer than %s: heal without the file", j.Header().Run, f.File)
	}
	return []*journal.Journal{j}, nil
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
	for _, j := range all.journals {
		for _, p := range j.Preview(ctx) {
			f.say("run %s: %s", j.Header().Run, p)
		}
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
	return nil
}

// Heal undoes and removes, prints each action, and ends with what is not as it was. It refuses a cluster that a run uses. A second Heal finds nothing.
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
		Cluster: f.Access.Name(), Foreign: true, Context: f.Access.Context, Heal: true,
		Found: func(dead hold.Holder) { f.say("released the cluster from %s", dead.Run) },
		Waiting: func(who hold.Holder) {
			f.say("waiting %s for a sign of life from %s, which ran on another machine", hold.Silence, who.Run)
		},
	})
	if err != nil {
		return f.Access.Explain(err)
	}
	unexplained, err := f.undo(ctx)
	if err != nil {
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
	if unexplained > 0 {
		return fmt.Errorf("heal %s: everything that was written down is undone, and yet %d fields are not as they were, and nothing says who has changed them: see above",
			f.Access.Name(), unexplained)
	}
	f.say("healed")
	return nil
}

// undo undoes the journals, and counts the differences that nothing explains.
func (f *Foreign) undo(ctx context.Context) (unexplained int, err error) {
	var healed []journal.Healed
	if f.File == "" {
		healed, err = journal.Heal(ctx, f.where(), "heal")
	} else {
		var all []*journal.Journal
		if all, err = f.journals(ctx); err == nil {
			healed, err = journal.HealThese(ctx, all, "heal")
		}
	}
	for _, h := range healed {
		for _, line := range h.Lines() {
			f.say("run %s: %s", h.Run, line)
		}
		unexplained += len(h.Unexplained())
	}
	return unexplained, err
}

// tidy removes what is left of holdfast beside the journals: namespaces whose time has passed, load workers, and the healer.
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
