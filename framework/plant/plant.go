// Package plant breaks an upgrade on purpose, in ways that upgrades have broken: a certificate that would not notice is worth
// nothing. `holdfast certify --plant NAME` must end without a certificate, and name the cause.
//
// It does not judge whether it was caught, and is no fault of a scenario: a fault is undone before a scenario ends, a plant
// lasts for the rest of the upgrade, as if the new version were like this.
package plant

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// Moment is when a plant changes the cluster.
type Moment string

// The moments of an upgrade at which something is planted.
const (
	// Never: it changes workloads alone.
	Never Moment = ""
	// AfterControlPlane is once every control-plane node runs the target version and kubeadm has upgraded its add-ons, before
	// anything is done to the workload on old workers.
	AfterControlPlane Moment = "after-control-plane"
	// BeforeWorkers is before the first worker is drained to be upgraded.
	BeforeWorkers Moment = "before-workers"
)

// Plant is a regression.
type Plant struct {
	// Name picks it, for example "no-prestop".
	Name string
	// Does says what is broken, in words that complete "planted: ...".
	Does string
	// Cause is what the reasons that the certificate gives must contain, word for word.
	Cause string
	// When the cluster is to be changed.
	When Moment

	workload func(*scenario.Spec)
	cluster  *change
}

// change is made to a cluster, and is to be undone there by whoever finds it: the harness that made it may have been killed.
type change struct {
	// make returns when its effect was seen.
	make func(context.Context, kubernetes.Interface) error
	// left tells what of it is there, in words; empty: nothing.
	left func(context.Context, kubernetes.Interface) (string, error)
	// undo returns when its end was seen. Nothing to undo is no error.
	undo func(context.Context, kubernetes.Interface) error
}

// All are the plants, in order of their names.
func All() []Plant { return []Plant{lateKubeProxy, noPreStop, webhookWithoutReplicas} }

// Find is the plant of a name.
func Find(name string) (Plant, error) {
	var names []string
	for _, p := range All() {
		if p.Name == name {
			return p, nil
		}
		names = append(names, p.Name)
	}
	return Plant{}, fmt.Errorf("no plant is called %q, only %s", name, strings.Join(names, ", "))
}

// Workload is a scenario with the regression planted in its workload. A plant of the cluster leaves it as it is, and so does every
// plant a mutant, which is broken already.
func (p Plant) Workload(s scenario.Spec) scenario.Spec {
	if p.workload != nil && s.Mutant == nil {
		p.workload(&s)
	}
	return s
}

// Cluster plants the regression in a cluster, and returns when its effect was seen there. The undo is not nil even with an
// error, may be called after the context has ended, and more than once. A cluster that has the plant already is refused.
func (p Plant) Cluster(ctx context.Context, client kubernetes.Interface) (undo func(context.Context) error, err error) {
	if p.cluster == nil {
		return func(context.Context) error { return nil }, nil
	}
	undo = func(ctx context.Context) error {
		if err := p.cluster.undo(ctx, client); err != nil {
			return fmt.Errorf("undo plant %s: %w", p.Name, err)
		}
		return nil
	}
	left, err := p.cluster.left(ctx, client)
	if err == nil && left != "" {
		err = fmt.Errorf("%s is there already: `holdfast heal` removes it", left)
	}
	if err != nil { // what is there is another's
		return func(context.Context) error { return nil }, fmt.Errorf("plant %s: %w", p.Name, err)
	}
	if err := p.cluster.make(ctx, client); err != nil {
		return undo, fmt.Errorf("plant %s: %w", p.Name, err)
	}
	return undo, nil
}

// Heal undoes what any plant has left in a cluster, and says what that was.
func Heal(ctx context.Context, client kubernetes.Interface) (healed []string, err error) {
	var errs []error
	for _, p := range All() {
		if p.cluster == nil {
			continue
		}
		left, err := p.cluster.left(ctx, client)
		if err == nil && left != "" {
			if err = p.cluster.undo(ctx, client); err == nil {
				healed = append(healed, left)
			}
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("heal plant %s: %w", p.Name, err))
		}
	}
	return healed, errors.Join(errs...)
}
