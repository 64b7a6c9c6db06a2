package placement

import (
	"bytes"
	"encoding/json"
	"fmt"
	"slices"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// podRules are the rules by which the scheduler must place a pod, in Kubernetes' words: see history.Pod. Package
// invariant knows no Kubernetes library, so that what they mean is written down here, from the documentation.
//
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/assign-pod-node/
// Source: https://kubernetes.io/docs/concepts/scheduling-eviction/topology-spread-constraints/
type podRules struct {
	NodeSelector map[string]string `json:"nodeSelector"`
	Affinity     struct {
		NodeAffinity struct {
			Required *struct {
				Terms []nodeTerm `json:"nodeSelectorTerms"`
			} `json:"requiredDuringSchedulingIgnoredDuringExecution"`
		} `json:"nodeAffinity"`
		Pod  podTerms `json:"podAffinity"`
		Anti podTerms `json:"podAntiAffinity"`
	} `json:"affinity"`
	Tolerations []toleration `json:"tolerations"`
	Spread      []spreadRule `json:"topologySpreadConstraints"` // once read, only those that are hard
}

type podTerms struct {
	Required []podTerm `json:"requiredDuringSchedulingIgnoredDuringExecution"`
}

// podTerm is a term of pod affinity or anti-affinity. Its label keys are in its selector, too: the API server put them
// there.
type podTerm struct {
	LabelSelector     *labelSelector  `json:"labelSelector"`
	Namespaces        []string        `json:"namespaces"`
	NamespaceSelector json.RawMessage `json:"namespaceSelector"`
	TopologyKey       string          `json:"topologyKey"`
	MatchLabelKeys    []string        `json:"matchLabelKeys"`
	MismatchLabelKeys []string        `json:"mismatchLabelKeys"`
}

// spreadRule is a topology spread constraint.
type spreadRule struct {
	MaxSkew            int            `json:"maxSkew"`
	TopologyKey        string         `json:"topologyKey"`
	WhenUnsatisfiable  string         `json:"whenUnsatisfiable"`
	LabelSelector      *labelSelector `json:"labelSelector"`
	MinDomains         int            `json:"minDomains"`
	NodeAffinityPolicy string         `json:"nodeAffinityPolicy"`
	NodeTaintsPolicy   string         `json:"nodeTaintsPolicy"`
	MatchLabelKeys     []string       `json:"matchLabelKeys"`
}

type toleration struct {
	Key      string `json:"key"`
	Operator string `json:"operator"`
	Value    string `json:"value"`
	Effect   string `json:"effect"`
	Seconds  *int64 `json:"tolerationSeconds"` // matters only to pods that are placed already
}

// nodeTerm asks for all of its requirements; of several terms, one is enough.
type nodeTerm struct {
	Labels []requirement `json:"matchExpressions"`
	Fields []requirement `json:"matchFields"`
}

type labelSelector struct {
	Labels      map[string]string `json:"matchLabels"`
	Expressions []requirement     `json:"matchExpressions"`
}

// requirement is one of a label or, of nodes, of a field.
type requirement struct {
	Key      string   `json:"key"`
	Operator string   `json:"operator"`
	Values   []string `json:"values"`
}

// What the policies and operators may be.
const (
	honor, ignore     = "Honor", "Ignore"
	hardRule, softOne = "DoNotSchedule", "ScheduleAnyway"
)

var (
	labelOperators = []string{"In", "NotIn", "Exists", "DoesNotExist"}
	nodeOperators  = append([]string{"Gt", "Lt"}, labelOperators...)
)

// readRules reads what a record holds of a pod's rules. What this version cannot weigh is an error: the pod might have
// been placed by something else.
func readRules(raw json.RawMessage, namespace string) (*podRules, error) {
	r := &podRules{}
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(r); err != nil {
		return nil, err
	}
	for _, c := range r.Spread {
		if err := c.check(); err != nil {
			return nil, err
		}
	}
	r.Spread = slices.DeleteFunc(r.Spread, func(c spreadRule) bool { return c.WhenUnsatisfiable == softOne })
	for _, t := range slices.Concat(r.Affinity.Pod.Required, r.Affinity.Anti.Required) {
		if err := t.check(namespace); err != nil {
			return nil, err
		}
	}
	for _, t := range r.Tolerations {
		if err := known("operator of a toleration", t.Operator, "", "Equal", "Exists"); err != nil {
			return nil, err
		}
	}
	if required := r.Affinity.NodeAffinity.Required; required != nil {
		for _, t := range required.Terms {
			if err := knownOperators(slices.Concat(t.Labels, t.Fields), nodeOperators); err != nil {
				return nil, err
			}
		}
	}
	return r, nil
}

func (c spreadRule) check() error {
	for what, values := range map[string][]string{
		"whenUnsatisfiable":  {c.WhenUnsatisfiable, hardRule, softOne},
		"nodeAffinityPolicy": {c.NodeAffinityPolicy, "", honor, ignore},
		"nodeTaintsPolicy":   {c.NodeTaintsPolicy, "", honor, ignore},
	} {
		if err := known(what, values[0], values[1:]...); err != nil {
			return err
		}
	}
	return c.LabelSelector.check()
}

// check also refuses terms about pods of other namespaces: the record does not hold them.
func (t podTerm) check(namespace string) error {
	if len(t.NamespaceSelector) > 0 && string(t.NamespaceSelector) != "null" ||
		slices.ContainsFunc(t.Namespaces, func(n string) bool { return n != namespace }) {
		return fmt.Errorf("affinity over %s is about pods of other namespaces", t.TopologyKey)
	}
	return t.LabelSelector.check()
}

func (s *labelSelector) check() error {
	if s == nil {
		return nil
	}
	return knownOperators(s.Expressions, labelOperators)
}

func knownOperators(all []requirement, operators []string) error {
	for _, r := range all {
		if err := known("operator", r.Operator, operators...); err != nil {
			return err
		}
	}
	return nil
}

func known(what, value string, values ...string) error {
	if !slices.Contains(values, value) {
		return fmt.Errorf("unknown %s %q", what, value)
	}
	return nil
}

// AboutOthers tells whether the rules say where a pod may be relative to others.
func (r *podRules) AboutOthers() bool {
	return len(r.Spread)+len(r.Affinity.Pod.Required)+len(r.Affinity.Anti.Required) > 0
}

// matches tells whether a selector chooses what has these labels. None chooses nothing; an empty one, everything.
func (s *labelSelector) matches(labels map[string]string) bool {
	return s != nil && history.Selects(s.Labels, labels) && holdAll(s.Expressions, labels)
}

func holdAll(all []requirement, labels map[string]string) bool {
	return !slices.ContainsFunc(all, func(r requirement) bool { return !r.holds(labels) })
}

// holds tells whether labels meet a requirement. A label that is not there is not in any list.
func (r requirement) holds(labels map[string]string) bool {
	value, has := labels[r.Key]
	switch r.Operator {
	case "In":
		return has && slices.Contains(r.Values, value)
	case "NotIn":
		return !has || !slices.Contains(r.Values, value)
	case "Exists":
		return has
	case "DoesNotExist":
		return !has
	}
	got, err := strconv.ParseInt(value, 10, 64)
	if err != nil || len(r.Values) != 1 {
		return false
	}
	than, err := strconv.ParseInt(r.Values[0], 10, 64)
	return err == nil && (r.Operator == "Gt" && got > than || r.Operator == "Lt" && got < than)
}
