package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// upgrade is the scenario in which a cluster is brought to another version; its faults do not know yet which.
var upgrade *Spec

// DescribeUpgrade keeps the scenario that Upgrade returns. There is one; it is part of no scope. A spec that makes no sense, or
// that does not upgrade a whole cluster, panics: it is a mistake in the source.
func DescribeUpgrade(s Spec) Spec {
	s = s.WithDefaults()
	err := s.Validate()
	switch {
	case err != nil:
	case upgrade != nil:
		err = fmt.Errorf("scenario %s: %s is the one that upgrades", s.Name, upgrade.Name)
	case !slices.ContainsFunc(s.Faults, is[fault.UpgradeControlPlane]) || !slices.ContainsFunc(s.Faults, is[fault.UpgradeWorkers]):
		err = fmt.Errorf("scenario %s: want faults that upgrade the control plane and the workers", s.Name)
	}
	if err != nil {
		panic(err)
	}
	upgrade = &s
	return s
}

// is tells whether a fault is of a type.
func is[T fault.Fault](f fault.Fault) bool {
	_, of := f.(T)
	return of
}

// Upgrade is the scenario that brings a cluster to a version. After is arranged once the control plane was upgraded, before
// before the first worker is drained; nil: nothing.
func Upgrade(to string, after, before fault.Arrange) (Spec, error) {
	if upgrade == nil {
		return Spec{}, errors.New("upgrade: no scenario for it was described")
	}
	s := *upgrade
	s.Faults = slices.Clone(s.Faults)
	for i, f := range s.Faults {
		switch f.(type) {
		case fault.UpgradeControlPlane:
			s.Faults[i] = fault.UpgradeControlPlane{To: to, After: after}
		case fault.UpgradeWorkers:
			s.Faults[i] = fault.UpgradeWorkers{To: to, Before: before}
		}
	}
	return s, nil
}
