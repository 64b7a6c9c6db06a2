package audit

import (
	_ "embed"
	"errors"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/selection"
)

// DefaultCritical selects the workloads that the policy binds.
const DefaultCritical = "holdfast.dev/critical=true"

//go:embed policy.yaml
var policy string

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
	// JSON is YAML, and no part of a label selector needs an escape in it.
	return []byte(strings.NewReplacer("SELECTOR", string(encode(selector)), "STILL", still, "CRITICAL", critical).Replace(policy)), nil
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
