package audit

import (
	"cmp"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// Skew is how unevenly a workload's pods are spread at present.
type Skew struct {
	Namespace, Kind, Name string
	TopologyKey           string
	Constraint            Strictness
	// Skew is the difference between the domains with the most and the fewest pods. Domains that take pods now count, and so do
	// those that have some.
	Skew int
	// Allowed is the skew that the constraint allows; 0 if Unconstrained. A soft constraint allows what hard ones over other
	// topologies force.
	Allowed int
	// Pods by domain, of the domains that have some. Empty is how many domains that take pods now have none.
	Pods  map[string]int
	Empty int
}

// Strictness says what the scheduler does with a pod that would break a constraint.
type Strictness string

// The kinds of strictness.
const (
	Hard          Strictness = "hard" // it leaves the pod Pending
	Soft          Strictness = "soft" // it places the pod nevertheless
	Unconstrained Strictness = "none" // there is no constraint over this topology
)

func (k Skew) exceeded() bool { return k.Constraint != Unconstrained && k.Skew > k.Allowed }

// Object names the workload in one word.
func (k Skew) Object() string { return k.Namespace + "/" + k.Kind + "/" + k.Name }

// Skews returns the present skew of each workload over the topologies of its own spread constraints, and over zones and nodes, the
// worst first: those that exceed what is allowed, then the others by their skew. A workload whose pods or nodes could not be read
// has none. Like Audit it is a pure function.
func Skews(c Cluster) (all []Skew) {
	v := newView(&c, "")
	for i := range c.Workloads {
		s := subject{view: v, Workload: &c.Workloads[i]}
		if !s.lacks(softConstraintViolated) {
			all = append(all, s.skews()...)
		}
	}
	slices.SortStableFunc(all, func(a, b Skew) int {
		return cmp.Or(
			-cmp.Compare(a.excess(), b.excess()), -cmp.Compare(a.Skew, b.Skew),
			cmp.Compare(a.Object(), b.Object()), cmp.Compare(a.TopologyKey, b.TopologyKey), cmp.Compare(a.Constraint, b.Constraint),
		)
	})
	return all
}

// excess is by how much a constraint is exceeded.
func (k Skew) excess() int {
	if k.Constraint == Unconstrained {
		return 0
	}
	return max(0, k.Skew-k.Allowed)
}

func (s *subject) skews() (all []Skew) {
	keys := map[string]bool{}
	for _, c := range s.Template.Spec.TopologySpreadConstraints {
		if s.own(c.LabelSelector) { // the API accepts one of each strictness over a key
			all, keys[c.TopologyKey] = append(all, s.skew(c)), true
		}
	}
	for _, key := range []string{zoneKey, hostKey} {
		if !keys[key] && len(s.open().domains(key)) > 0 {
			all = append(all, s.spread(Skew{TopologyKey: key, Constraint: Unconstrained}, nil))
		}
	}
	return all
}

// skew returns the skew that a constraint limits.
func (s *subject) skew(c corev1.TopologySpreadConstraint) Skew {
	k := Skew{TopologyKey: c.TopologyKey, Constraint: Soft, Allowed: max(int(c.MaxSkew), s.forced(c.TopologyKey))}
	if hard(c) {
		k.Constraint, k.Allowed = Hard, int(c.MaxSkew)
	}
	return s.spread(k, c.MatchLabelKeys)
}

// spread counts the pods of the largest group with equal values of matchLabelKeys.
func (s *subject) spread(k Skew, matchLabelKeys []string) Skew {
	k.Namespace, k.Kind, k.Name = s.Namespace, s.Kind, s.Name
	k.Pods = s.count(k.TopologyKey, s.largest(matchLabelKeys))
	for _, d := range s.open().domains(k.TopologyKey) {
		if k.Pods[d] == 0 {
			k.Empty++
		}
	}
	if k.Skew = extent(k.Pods); k.Empty > 0 && len(k.Pods) > 0 {
		k.Skew = slices.Max(slices.Collect(maps.Values(k.Pods)))
	}
	return k
}
