package manifests

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/client-go/dynamic"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// ApplyAuditFixes does to the workload what `holdfast audit` suggests: it audits, applies the first finding's fix, waits until the
// workload has settled, and audits again, until no finding with a fix is left. The record has the findings of each audit. The
// fixes stay, so there is nothing to revert.
type ApplyAuditFixes struct {
	// Leave is the ID of a rule whose findings are not fixed.
	Leave string
}

// maxFixes bounds the fixes: there are fewer rules.
const maxFixes = 30

func (a ApplyAuditFixes) String() string {
	if a.Leave != "" {
		return "apply the fixes of the audit, except for " + a.Leave
	}
	return "apply the fixes of the audit"
}

// Plan implements fault.Fault. The fixes are active when no finding with a fix is left and the workload has settled.
func (a ApplyAuditFixes) Plan(ctx context.Context, to fault.Target) (fault.Disruption, error) {
	t := target{to}
	before, err := t.Pods(ctx)
	if err != nil {
		return nil, err
	}
	var fixed []string
	var left []audit.Finding
	return fault.Settling(&fault.Effect{
		Ask: func(ctx context.Context) (bool, string, error) { return t.stillFixed(ctx, fixed, left) },
		Restore: func(ctx context.Context) (string, error) {
			if len(fixed) == 0 {
				return "", nil
			}
			settled, err := t.Settle(ctx)
			return "the fixes stay; " + settled, err
		},
		Stays: true,
	}, func(ctx context.Context) (seen fault.Observation, err error) {
		first, err := t.audit(ctx)
		if err != nil {
			return seen, err
		}
		var settled string
		if fixed, left, settled, err = a.fixAll(ctx, &t, first); err != nil {
			return seen, err
		}
		if len(fixed) == 0 {
			return seen, fmt.Errorf("fix %s: the audit found nothing to patch: %s", t.Workload, rulesOf(first))
		}
		after, err := t.Pods(ctx)
		seen.Pods = fault.Gone(before, after)
		seen.Witness = fmt.Sprintf("the audit found %s; patched %s; and then it found %s; %s",
			rulesOf(first), strings.Join(fixed, ", "), rulesOf(left), settled)
		return seen, err
	}), nil
}

// fixAll applies fixes, each rule's once, and returns the rules that it fixed, the findings of the last audit, and what was seen when
// the workload had settled. From the first fix on, t expects a node for every replica.
func (a ApplyAuditFixes) fixAll(ctx context.Context, t *target, found []audit.Finding) (fixed []string, left []audit.Finding, settled string, err error) {
	for range maxFixes {
		next := slices.IndexFunc(found, func(f audit.Finding) bool {
			return len(f.Fix) > 0 && f.Rule != a.Leave && !slices.Contains(fixed, f.Rule)
		})
		if next < 0 {
			break
		}
		f := found[next]
		for _, step := range f.Fix {
			if err := t.apply(ctx, step); err != nil {
				return nil, nil, "", fmt.Errorf("fix %s of %s: %w", f.Rule, t.Workload, err)
			}
		}
		fixed = append(fixed, f.Rule)
		t.SchedulableReplicas = 0 // the fix may have made room for pods that had none
		if settled, err = t.Settle(ctx); err != nil {
			return nil, nil, "", fmt.Errorf("after the fix of %s: %w", f.Rule, err)
		}
		if found, err = t.audit(ctx); err != nil {
			return nil, nil, "", err
		}
	}
	return fixed, found, settled, nil
}

// stillFixed checks that the audit does not find the fixed rules again, except those that were found after the fixes.
func (t target) stillFixed(ctx context.Context, fixed []string, left []audit.Finding) (bool, string, error) {
	wasLeft := func(rule string) bool {
		return slices.ContainsFunc(left, func(f audit.Finding) bool { return f.Rule == rule })
	}
	report, err := t.inspect(ctx)
	if err != nil {
		return false, "", err
	}
	again := slices.DeleteFunc(report.Findings, func(f audit.Finding) bool { return !slices.Contains(fixed, f.Rule) || wasLeft(f.Rule) })
	return len(again) == 0, "of the fixed rules, the audit finds " + rulesOf(again), nil
}

// rulesOf lists the rules of findings.
func rulesOf(findings []audit.Finding) string {
	if len(findings) == 0 {
		return "nothing"
	}
	var rules []string
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	return strings.Join(rules, ", ")
}

// audit audits the workload, and records the findings.
func (t target) audit(ctx context.Context) ([]audit.Finding, error) {
	report, err := t.inspect(ctx)
	if err != nil {
		return nil, err
	}
	event := history.Audit{Namespace: t.Namespace, Workload: t.Workload, Findings: []history.Finding{}}
	for _, f := range report.Findings {
		event.Findings = append(event.Findings, history.Finding{Rule: f.Rule, Evidence: f.Evidence})
	}
	for _, n := range report.NotChecked {
		event.NotChecked = append(event.NotChecked, strings.Join(n.Rules, ", ")+": "+n.Why)
	}
	t.Record.Note(history.Event{Audit: &event})
	return report.Findings, nil
}

// inspect audits the workload as `holdfast audit` does.
func (t target) inspect(ctx context.Context) (audit.Report, error) {
	cluster, err := audit.Read(ctx, t.Client, audit.Scope{Namespaces: []string{t.Namespace}})
	if err != nil {
		return audit.Report{}, fmt.Errorf("audit %s: %w", t.Workload, err)
	}
	cluster.Only(t.Workload)
	return audit.Audit(cluster, audit.Options{}), nil
}

// apply applies one step, and checks that it changed the object. An API server that accepts a patch and keeps the object as it was
// has fixed nothing, whatever the next audit finds.
func (t target) apply(ctx context.Context, step audit.Step) error {
	before, err := t.content(ctx, step.Target)
	if err != nil {
		return err
	}
	if err := t.send(ctx, step); err != nil {
		return err
	}
	after, err := t.content(ctx, step.Target)
	if err == nil && reflect.DeepEqual(before, after) {
		err = fmt.Errorf("the API server accepted a %s of %s %s and changed nothing", step.Do, step.Target.Kind, step.Target.Name)
	}
	return err
}

// content returns what users wrote in an object, without what controllers and the API server add; nil: it does not exist.
func (t target) content(ctx context.Context, of audit.Target) (map[string]any, error) {
	resource, known := audit.ResourceOf(of.Kind)
	if !known {
		return nil, fmt.Errorf("unknown kind %s", of.Kind)
	}
	object, err := t.Dynamic.Resource(resource).Namespace(of.Namespace).Get(ctx, of.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	if err != nil {
		return nil, fmt.Errorf("read %s %s/%s: %w", of.Kind, of.Namespace, of.Name, err)
	}
	content := object.Object
	delete(content, "status")
	for _, field := range []string{"resourceVersion", "generation", "managedFields"} {
		unstructured.RemoveNestedField(content, "metadata", field)
	}
	unstructured.RemoveNestedField(content, "metadata", "annotations", "deployment.kubernetes.io/revision") // the controller's
	return content, nil
}

// send sends the request that a step's command would send.
func (t target) send(ctx context.Context, step audit.Step) error { return Send(ctx, t.Dynamic, step) }

// Send sends the request that the command of an audit's step would send.
func Send(ctx context.Context, client dynamic.Interface, step audit.Step) error {
	resource, known := audit.ResourceOf(step.Target.Kind)
	if !known {
		return fmt.Errorf("unknown kind %s", step.Target.Kind)
	}
	at := client.Resource(resource).Namespace(step.Target.Namespace)
	body := []byte(step.Body)
	switch step.Do {
	case audit.Create:
		object := &unstructured.Unstructured{}
		if err := object.UnmarshalJSON(step.Body); err != nil {
			return err
		}
		_, err := at.Create(ctx, object, metav1.CreateOptions{FieldValidation: metav1.FieldValidationStrict})
		return err
	case audit.Delete:
		return at.Delete(ctx, step.Target.Name, metav1.DeleteOptions{})
	case audit.Restart:
		body = restart(time.Now())
	case audit.Patch:
	default:
		return errors.New("unknown step " + string(step.Do))
	}
	_, err := at.Patch(ctx, step.Target.Name, step.PatchType.API(), body, metav1.PatchOptions{FieldValidation: metav1.FieldValidationStrict})
	return err
}

// restart is the patch by which `kubectl rollout restart` replaces a workload's pods.
func restart(at time.Time) []byte {
	body, _ := json.Marshal(map[string]any{"spec": map[string]any{"template": map[string]any{"metadata": map[string]any{
		"annotations": map[string]string{"kubectl.kubernetes.io/restartedAt": at.UTC().Format(time.RFC3339)},
	}}}}) // strings always encode
	return body
}
