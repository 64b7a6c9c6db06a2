package apptest

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/app/manifests"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/workloads"
	"github.com/holdfast-ha/holdfast/workloads/app"
)

// Upgrade is a scenario that upgrades a cluster, such as suites/upgrade has, with the application in place of holdfast's own workload: the
// same steps and faults, the requests of all probes, and what is promised to clients. The rolling updates and the drain between the steps
// are those of the first workload that a probe reaches, other than a DaemonSet, which no drain moves.
func (t Test) Upgrade(name string, of scenario.Spec) (scenario.Spec, error) {
	t, err := t.checked()
	if err != nil {
		return scenario.Spec{}, err
	}
	at := slices.IndexFunc(t.App.Workloads, func(w app.Workload) bool { return len(t.known.probed[w.Name]) > 0 && w.Kind != workloads.DaemonSet })
	if at < 0 {
		return scenario.Spec{}, errors.New("no probe reaches a Deployment or StatefulSet of the application")
	}
	w := t.App.Workloads[at]
	s := scenario.Spec{Name: name, Faults: slices.Clone(of.Faults), About: of.About}
	for i, f := range s.Faults {
		if f == (fault.RevertImmediately{Fault: fault.Drain{}}) {
			s.Faults[i] = fault.RevertImmediately{Fault: fault.TryDrain{For: drainLimit}} // the application may not fit on what is left
		}
	}
	if slices.ContainsFunc(t.App.Manifests, func(m app.Manifest) bool { return m.Object.GetKind() == "PodDisruptionBudget" }) {
		s.Promises = append(s.Promises, invariant.BudgetHonoured{})
	}
	const how = "to the next version of Kubernetes, node by node"
	s.Claim = fmt.Sprintf("upgrading the cluster of %s %s %s, is invisible to clients", w.Kind, w.Name, how)
	if promised := t.promise(&s, Voluntary, 0); promised != "" {
		s.Claim = fmt.Sprintf("while the cluster of %s %s is upgraded %s, %s", w.Kind, w.Name, how, promised)
	}
	return t.under(s, w)
}

// Digest is different for tests of other objects, or with other probes or promises. What a chart and holdfast make by chance does not count.
func (t Test) Digest() string {
	said := []any{t.Probes}
	if !reflect.ValueOf(t.Promises).IsZero() {
		said = append(said, t.Promises)
	}
	for _, m := range t.App.All() {
		switch {
		case m.Source == manifests.Generated: // with other values each time
		case m.Chart != "": // what is rendered may differ by chance
			said = append(said, m.Chart)
		default:
			said = append(said, m.Object.Object)
		}
	}
	text, err := json.Marshal(said)
	if err != nil { // all of it was read from JSON or YAML
		panic(err)
	}
	sum := sha256.Sum256(text)
	return "sha256:" + hex.EncodeToString(sum[:])
}
