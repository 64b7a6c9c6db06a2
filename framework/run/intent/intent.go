// Package intent puts together what a user asks for on a cluster that holdfast did not make: the file, the flags, and the application that runs
// there.
//
// It reads. It decides nothing: package disturb does.
package intent

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/url"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/run/recording"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/reading"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Intent is what a user asks for.
type Intent struct {
	Request disturb.Request
	// Probes are the requests that show whether the application serves. A host without a domain is one of the application's namespace.
	Probes []apptest.Probe
	// Promises are what the file promises of their requests.
	Promises apptest.Promises
	// Untested are workloads that no probe reaches.
	Untested []app.Workload
	// Before and After are the user's commands.
	Before, After string
}

// Options are what the command line says beside a Choice.
type Options struct {
	// Context is the context that --context names; empty: none is named.
	Context string
	// Disturb is --disturb.
	Disturb bool
	Seed    uint64
}

// Read reads the file of a choice, if it has one, and the application in the cluster. Manifests, if there are any, say which of the workloads
// are tested.
func Read(ctx context.Context, c appfile.Choice, from reading.Reader, o Options) (a Intent, err error) {
	var file appfile.File
	if c.File != "" {
		if file, err = appfile.Read(c.File); err != nil {
			return a, err
		}
	}
	if len(c.Faults) > 0 {
		file.Faults = c.Faults
	}
	if a.Request, err = file.Disturbance(); err != nil {
		return a, err
	}
	if file.Disturb != nil {
		a.Before, a.After = file.Disturb.Before, file.Disturb.After
	}
	named, namespace, err := tested(ctx, c, file)
	if err != nil {
		return a, err
	}
	if namespace == "" {
		return a, errors.New("no namespace: name that of the application with --namespace, or with app: {namespace: ...} in the file")
	}
	a.Request.Context, a.Request.Disturb, a.Request.Seed = o.Context, o.Disturb, o.Seed
	a.Request.Namespace, a.Request.Home = namespace, hold.Namespace
	err = a.read(ctx, c, file, from, named)
	return a, err
}

// tested are the names of the workloads in the manifests, and the namespace. Without manifests every workload is tested.
func tested(ctx context.Context, c appfile.Choice, file appfile.File) (named map[string]bool, namespace string, err error) {
	namespace = cmp.Or(c.Namespace, file.App.Namespace)
	sources := c.Sources
	if c.File != "" {
		sources = file.Sources()
	}
	if sources.Empty() {
		return nil, namespace, nil
	}
	read, err := manifests.Read(ctx, sources, manifests.Options{Namespace: namespace, Secrets: manifests.GenerateSecrets, Helm: c.Helm})
	if err != nil {
		return nil, "", err
	}
	named = map[string]bool{}
	for _, w := range read.Workloads {
		named[w.Kind+"/"+w.Name] = true
	}
	return named, read.Namespace, nil
}

// read reads the application, and finds the workloads that the requests of the probes reach.
func (a *Intent) read(ctx context.Context, c appfile.Choice, file appfile.File, from reading.Reader, named map[string]bool) error {
	live, err := from.App(ctx, a.Request.Namespace)
	if err != nil {
		return err
	}
	if named != nil {
		live.Workloads = slices.DeleteFunc(live.Workloads, func(w app.Workload) bool { return !named[w.Kind+"/"+w.Name] })
		if len(live.Workloads) == 0 {
			return fmt.Errorf("namespace %s has none of the workloads in the manifests", a.Request.Namespace)
		}
	}
	probes, promises, err := file.Asked(c.File, c.URLs, 0)
	if err != nil {
		return err
	}
	a.Promises = promises
	a.gently(probes)
	a.Probes = within(probes, a.Request.Namespace)
	if err := a.check(live); err != nil {
		return err
	}
	reached, err := a.reached(ctx, live, recording.FinderOf(from.Client, from.Dynamic, []string{a.Request.Namespace}))
	if err != nil {
		return err
	}
	for _, w := range live.Workloads {
		if reached[w.Name] {
			a.Request.Workloads = append(a.Request.Workloads, disturb.Object{Kind: w.Kind, Name: w.Name})
		} else {
			a.Untested = append(a.Untested, w)
		}
	}
	return nil
}

// check returns an error for probes of which something is wrong, wherever their requests go.
func (a *Intent) check(live app.App) error {
	if len(a.Probes) == 0 {
		return fmt.Errorf("no probe: give a URL with --url, such as http://SERVICE.%s/. Services of the namespace: %s", live.Namespace, live.Names())
	}
	var errs []error
	for i, p := range a.Probes {
		if slices.ContainsFunc(a.Probes[:i], func(other apptest.Probe) bool { return other.Name == p.Name }) {
			errs = append(errs, fmt.Errorf("two probes are named %q", p.Name))
		}
		errs = append(errs, p.Check(live.Namespace))
		if p.Outside {
			errs = append(errs, fmt.Errorf("probe %s: from: outside is for a cluster that holdfast makes: give the URL that clients outside of yours have, with --load outside", p.Name))
		}
	}
	return errors.Join(errs...)
}

// reached are the names of the workloads that the requests reach, wherever they are sent from: by a Service's name or address, by a port of a node, or
// by a host of an Ingress or HTTPRoute. A probe that reaches none is an error, because a verdict would rest on it.
func (a *Intent) reached(ctx context.Context, live app.App, finder *recording.Finder) (names map[string]bool, err error) {
	names = map[string]bool{}
	for _, p := range a.Probes {
		found, err := finder.Find(ctx, p.URL)
		if err != nil {
			return nil, &reading.UnansweredError{Namespace: live.Namespace, Err: err}
		}
		services := slices.Clone(p.Behind)
		for _, service := range found.Services {
			services = append(services, strings.TrimPrefix(service, live.Namespace+"/"))
		}
		if len(services) == 0 {
			return nil, fmt.Errorf("probe %s: it is not known which Service of namespace %s the requests to %s reach (%s): correct the URL, or name the Service in the probe's field behind. Services of the namespace: %s",
				p.Name, live.Namespace, p.URL, found.Why, live.Names())
		}
		met := 0
		for _, service := range services {
			for _, w := range live.Behind(service) {
				names[w.Name] = true
				met++
			}
		}
		if met == 0 {
			return nil, fmt.Errorf("probe %s: the requests to %s reach %s, which selects no pods of a Deployment or StatefulSet under test", p.Name, p.URL, prose.List(services))
		}
	}
	return names, nil
}

// gently gives the probes that say no rate a small one (rule 19).
func (a *Intent) gently(probes []apptest.Probe) {
	for i := range probes {
		p := &probes[i]
		asked := p.Rate > 0
		p.Rate = cmp.Or(p.Rate, disturb.GentleRate)
		a.Request.Load = append(a.Request.Load, disturb.Load{Name: p.Name, Rate: p.Rate, Asked: asked, Secret: p.Request.Private()})
	}
}

// within are probes as pods of any namespace send them: http://web/ is http://web.shop/.
func within(probes []apptest.Probe, namespace string) (all []apptest.Probe) {
	for _, p := range probes {
		if u, err := url.Parse(p.URL); err == nil && u.Hostname() != "" && !strings.Contains(u.Hostname(), ".") && !strings.Contains(u.Hostname(), ":") {
			host := u.Hostname() + "." + namespace
			if port := u.Port(); port != "" {
				host = net.JoinHostPort(host, port)
			}
			u.Host = host
			p.URL = u.String()
		}
		all = append(all, p)
	}
	return all
}

// Notes are what a reader of the plan must know beside what is done: the user's commands, what is promised less, and what is not tested.
func (a Intent) Notes() (notes []string) {
	if a.Before != "" {
		notes = append(notes, "before the first fault, this machine would run: "+a.Before)
	}
	if a.After != "" {
		notes = append(notes, "after the last fault was undone, this machine would run: "+a.After)
	}
	for _, class := range []apptest.Class{apptest.Voluntary, apptest.Involuntary} {
		_, looser := a.Promises.Recorded(class, a.Probes)
		notes = append(notes, looser...)
	}
	for _, w := range a.Untested {
		notes = append(notes, fmt.Sprintf("no probe reaches %s %s, so nothing is done to it", w.Kind, w.Name))
	}
	return notes
}
