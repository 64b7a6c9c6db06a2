package fault

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

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Mend does to the workload what `holdfast audit` says of it: look, apply the patch of the first finding that has one, wait
// until the workload has settled, and look again, until nothing is left to patch. Each look is in the record. There is nothing
// to undo: what is mended stays so.
type Mend struct {
	// Leave is a rule, by ID, whose findings are left as they are.
	Leave string
}

// maxMends bounds the patches: there are fewer rules than this.
const maxMends = 20

func (m Mend) String() string {
	if m.Leave != "" {
		return "mend what the audit finds, but for " + m.Leave
	}
	return "mend what the audit finds"
}

// Plan implements Fault. The mending was seen when there is nothing left to patch, and the workload has settled.
func (m Mend) Plan(ctx context.Context, t Target) (Disruption, error) {
	before, err := t.pods(ctx)
	if err != nil {
		return nil, err
	}
	var mended []string
	var left []audit.Finding
	return settling(&Effect{
		Ask: func(ctx context.Context) (bool, string, error) { return t.mended(ctx, mended, left) },
		Restore: func(ctx context.Context) (string, error) {
			if len(mended) == 0 {
				return "", nil
			}
			return t.settledAfter("what is mended stays so")(ctx)
		},
		Stays: true,
	}, func(ctx context.Context) (seen Observation, err error) {
		found, err := t.audit(ctx)
		if err != nil {
			return seen, err
		}
		first := found
		var settled string
		for range maxMends {
			next := slices.IndexFunc(found, func(f audit.Finding) bool {
				return len(f.Fix) > 0 && f.Rule != m.Leave && !slices.Contains(mended, f.Rule)
			})
			if next < 0 {
				break
			}
			f := found[next]
			for _, step := range f.Fix {
				if err := t.mend(ctx, step); err != nil {
					return seen, fmt.Errorf("mend %s of %s: %w", f.Rule, t.Workload, err)
				}
			}
			mended = append(mended, f.Rule)
			t.SchedulableReplicas = 0 // what had no place may have one now
			if settled, err = t.Settle(ctx); err != nil {
				return seen, fmt.Errorf("after mending %s: %w", f.Rule, err)
			}
			if found, err = t.audit(ctx); err != nil {
				return seen, err
			}
		}
		if len(mended) == 0 {
			return seen, fmt.Errorf("mend %s: the audit found nothing to patch: %s", t.Workload, words(first))
		}
		left = found
		after, err := t.pods(ctx)
		witness := fmt.Sprintf("the audit found %s; patched %s; and then it found %s; %s", words(first), strings.Join(mended, ", "), words(found), settled)
		return Observation{Pods: gone(before, after), Witness: witness}, err
	}), nil
}

// mended asks the audit whether it finds again what it no longer found.
func (t Target) mended(ctx context.Context, rules []string, left []audit.Finding) (bool, string, error) {
	was := func(rule string) bool {
		return slices.ContainsFunc(left, func(f audit.Finding) bool { return f.Rule == rule })
	}
	report, err := t.inspect(ctx)
	if err != nil {
		return false, "", err
	}
	again := slices.DeleteFunc(report.Findings, func(f audit.Finding) bool { return !slices.Contains(rules, f.Rule) || was(f.Rule) })
	return len(again) == 0, "of what was mended, the audit finds " + words(again), nil
}

// words lists the rules of findings.
func words(findings []audit.Finding) string {
	if len(findings) == 0 {
		return "nothing"
	}
	var rules []string
	for _, f := range findings {
		rules = append(rules, f.Rule)
	}
	return strings.Join(rules, ", ")
}

// audit looks at the workload, and has the record take what it found.
func (t Target) audit(ctx context.Context) ([]audit.Finding, error) {
	report, err := t.inspect(ctx)
	if err != nil {
		return nil, err
	}
	said := history.Audit{Namespace: t.Namespace, Workload: t.Workload, Findings: []history.Finding{}}
	for _, f := range report.Findings {
		said.Findings = append(said.Findings, history.Finding{Rule: f.Rule, Evidence: f.Evidence})
	}
	for _, n := range report.NotChecked {
		said.NotChecked = append(said.NotChecked, strings.Join(n.Rules, ", ")+": "+n.Why)
	}
	t.Record.Note(history.Event{Audit: &said})
	return report.Findings, nil
}

// inspect looks at the workload as `holdfast audit` does.
func (t Target) inspect(ctx context.Context) (audit.Report, error) {
	cluster, err := audit.Read(ctx, t.Client, audit.Scope{Namespaces: []string{t.Namespace}})
	if err != nil {
		return audit.Report{}, fmt.Errorf("audit %s: %w", t.Workload, err)
	}
	cluster.Workloads = slices.DeleteFunc(cluster.Workloads, func(w audit.Workload) bool { return w.Name != t.Workload })
	return audit.Audit(cluster, audit.Options{}), nil
}

// mend does one step, and sees that the object is another one than before: a server that takes a patch and keeps what it had
// has mended nothing, whatever the next look finds.
func (t Target) mend(ctx context.Context, step audit.Step) error {
	before, err := t.content(ctx, step.Target)
	if err != nil {
		return err
	}
	if err := t.apply(ctx, step); err != nil {
		return err
	}
	after, err := t.content(ctx, step.Target)
	if err == nil && reflect.DeepEqual(before, after) {
		err = fmt.Errorf("the API server took a %s of %s %s and changed nothing", step.Do, step.Target.Kind, step.Target.Name)
	}
	return err
}

// content of an object: what somebody asked for, and not what its controllers or the API server say of it. Nil: there is none.
func (t Target) content(ctx context.Context, of audit.Target) (map[string]any, error) {
	resource, known := audit.ResourceOf(of.Kind)
	if !known {
		return nil, fmt.Errorf("no resource is known of kind %s", of.Kind)
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

// apply does one step of a patch, as its command would.
func (t Target) apply(ctx context.Context, step audit.Step) error {
	resource, known := audit.ResourceOf(step.Target.Kind)
	if !known {
		return fmt.Errorf("no resource is known of kind %s", step.Target.Kind)
	}
	at := t.Dynamic.Resource(resource).Namespace(step.Target.Namespace)
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
	}}}}) // which can always be encoded
	return body
}
