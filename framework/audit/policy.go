package audit

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
	"sigs.k8s.io/yaml"
)

// DefaultCritical selects the workloads that the policy binds.
const DefaultCritical = "holdfast.dev/critical=true"

// policyName is the name of the policy and of its binding.
const policyName = "critical-workloads-need-a-zone-constraint.holdfast.dev"

// hardZone is the CEL expression that a critical workload must meet. A constraint whose selector does not select the workload's
// own pods spreads nothing, so it does not count.
const hardZone = `has(object.spec.template.spec.topologySpreadConstraints) &&
object.spec.template.spec.topologySpreadConstraints.exists(c,
  c.topologyKey == '` + zoneKey + `' &&
  c.whenUnsatisfiable == 'DoNotSchedule' &&
  has(c.labelSelector) &&
  (!has(c.labelSelector.matchLabels) || c.labelSelector.matchLabels.all(k,
    has(object.spec.template.metadata.labels) &&
    k in object.spec.template.metadata.labels &&
    object.spec.template.metadata.labels[k] == c.labelSelector.matchLabels[k])))`

// Policy returns a ValidatingAdmissionPolicy and its binding, as YAML. They refuse Deployments and StatefulSets that match the
// label selector critical and have no hard constraint over zones. Scaling, status updates and deletion are allowed, and so is
// an update that makes a workload non-critical. A selector that cannot be parsed, or that selects every workload, is an error.
func Policy(critical string) ([]byte, error) {
	selector, err := metav1.ParseToLabelSelector(critical)
	if err != nil {
		return nil, fmt.Errorf("read label selector %q: %w", critical, err)
	}
	still, err := celOf(critical)
	if err != nil {
		return nil, fmt.Errorf("read label selector %q: %w", critical, err)
	}
	fail, equivalent := admissionv1.Fail, admissionv1.Equivalent
	policy := admissionv1.ValidatingAdmissionPolicy{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: kindPolicy},
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionv1.ValidatingAdmissionPolicySpec{
			FailurePolicy: &fail,
			MatchConstraints: &admissionv1.MatchResources{
				MatchPolicy: &equivalent, ObjectSelector: selector,
				ResourceRules: []admissionv1.NamedRuleWithOperations{{RuleWithOperations: admissionv1.RuleWithOperations{
					Operations: []admissionv1.OperationType{admissionv1.Create, admissionv1.Update},
					Rule: admissionv1.Rule{
						APIGroups: []string{"apps"}, APIVersions: []string{"v1"}, Resources: []string{"deployments", "statefulsets"},
					},
				}}},
			},
			MatchConditions: []admissionv1.MatchCondition{
				// The garbage collector updates what is being deleted: refusing the update would block the deletion for ever.
				{Name: "not-being-deleted", Expression: "!has(object.metadata.deletionTimestamp)"},
				// The object selector also matches the labels that an update removes.
				{Name: "still-critical", Expression: still},
			},
			Validations: []admissionv1.Validation{{Expression: hardZone, Message: policyMessage(critical)}},
		},
	}
	binding := admissionv1.ValidatingAdmissionPolicyBinding{
		TypeMeta:   metav1.TypeMeta{APIVersion: "admissionregistration.k8s.io/v1", Kind: kindBinding},
		ObjectMeta: metav1.ObjectMeta{Name: policyName},
		Spec: admissionv1.ValidatingAdmissionPolicyBindingSpec{
			PolicyName: policyName, ValidationActions: []admissionv1.ValidationAction{admissionv1.Deny},
		},
	}
	return Documents(policy, binding)
}

func policyMessage(critical string) string {
	return "a workload labelled " + critical + " needs a topology spread constraint that puts its replicas into different zones: add to " +
		"spec.template.spec.topologySpreadConstraints {maxSkew: 1, topologyKey: " + zoneKey + ", whenUnsatisfiable: DoNotSchedule, " +
		"labelSelector: the one of spec.selector, matchLabelKeys: [" + revisionKey + "] (Deployments only)}"
}

// Documents joins objects to one YAML stream, without the status that API types carry.
func Documents(objects ...any) ([]byte, error) {
	var parts [][]byte
	for _, o := range objects {
		text, err := json.Marshal(o)
		if err != nil {
			return nil, err
		}
		var plain map[string]any
		if err := json.Unmarshal(text, &plain); err != nil {
			return nil, err
		}
		delete(plain, "status")
		if text, err = yaml.Marshal(plain); err != nil {
			return nil, err
		}
		parts = append(parts, text)
	}
	return bytes.Join(parts, []byte("---\n")), nil
}

// celOf returns a label selector as a CEL expression on the new object alone.
func celOf(critical string) (string, error) {
	parsed, err := labels.Parse(critical)
	if err != nil {
		return "", err
	}
	requirements, _ := parsed.Requirements()
	if len(requirements) == 0 {
		return "", errors.New("it selects every workload; name a label")
	}
	var all []string
	for _, r := range requirements {
		condition, err := celOfRequirement(r)
		if err != nil {
			return "", err
		}
		all = append(all, condition)
	}
	return strings.Join(all, " && "), nil
}

func celOfRequirement(r labels.Requirement) (string, error) {
	there := fmt.Sprintf("has(object.metadata.labels) && '%s' in object.metadata.labels", r.Key())
	var values []string
	for _, v := range slices.Sorted(slices.Values(r.ValuesUnsorted())) {
		values = append(values, "'"+v+"'") // label keys and values cannot contain quotes
	}
	in := fmt.Sprintf("%s && object.metadata.labels['%s'] in [%s]", there, r.Key(), strings.Join(values, ", "))
	switch r.Operator() {
	case selection.In, selection.Equals, selection.DoubleEquals:
		return "(" + in + ")", nil
	case selection.NotIn:
		return "!(" + in + ")", nil
	case selection.Exists:
		return "(" + there + ")", nil
	case selection.DoesNotExist:
		return "!(" + there + ")", nil
	}
	return "", fmt.Errorf("operator %q: want =, in, notin, or a label's name alone", r.Operator())
}
