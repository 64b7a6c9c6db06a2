package environment

import (
	"context"
	"encoding/json"
	"fmt"
	"strings"

	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/scenario/manifests"
)

// singleReplica is the audit's rule about workloads with one replica.
const singleReplica = "single-replica"

// fixApp applies the scenario's fix to the application. The workload settles with it before load flows.
func (env *Environment) fixApp(ctx context.Context) error {
	if len(env.Spec.Fix) == 0 {
		return nil
	}
	untyped, err := dynamic.NewForConfig(env.config)
	if err != nil {
		return err
	}
	for _, step := range env.Spec.Fix {
		if err := manifests.Send(ctx, untyped, step); err != nil {
			return fmt.Errorf("apply the fix %s: %w", step.Command, err)
		}
	}
	return nil
}

// proxiesFollow lets the time pass in which each kube-proxy must have followed the replacement of pods by a fix. Nothing that is seen of
// the cluster says which rules a proxy has, and a request to a pod that the fix has replaced would look like a failure of the application.
func (env *Environment) proxiesFollow(ctx context.Context) error {
	if len(env.Spec.Fix) == 0 {
		return nil
	}
	return poll.Pass(ctx, evidence.PropagationSlack)
}

// auditApp records what the audit finds in the workload under test, with the fixes: if a promise is broken, the report says which of
// them takes the cause away.
func (env *Environment) auditApp(ctx context.Context) error {
	cluster, err := audit.Read(ctx, env.client, audit.Scope{Namespaces: []string{env.namespace}})
	if err != nil {
		return fmt.Errorf("audit %s: %w", env.backend, err)
	}
	cluster.Only(env.backend)
	report := audit.Audit(cluster, audit.Options{})
	event := history.Audit{Namespace: env.namespace, Workload: env.backend, Findings: []history.Finding{}}
	for _, f := range report.Findings {
		found := history.Finding{Rule: f.Rule, Evidence: f.Evidence}
		if f.Rule == singleReplica && strings.Contains(f.Caution, audit.SecondDatabase) { // several of a server with state are not one server
			f.Fix = nil
		}
		for _, step := range f.Fix {
			found.Commands = append(found.Commands, step.Command)
		}
		if len(f.Fix) > 0 {
			if found.Fix, err = json.Marshal(f.Fix); err != nil {
				return fmt.Errorf("audit %s: %w", env.backend, err)
			}
		}
		event.Findings = append(event.Findings, found)
	}
	return env.Writer.Append(history.Event{T: env.Writer.Now(), Audit: &event})
}
