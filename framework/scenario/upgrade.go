package scenario

import (
	"errors"
	"fmt"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// upgrade is the scenario that upgrades a cluster. The version is filled in by Upgrade.
var upgrade *Spec

// DescribeUpgrade sets the scenario that Upgrade returns. There is only one, and it is part of no scope. DescribeUpgrade panics if
// the spec is invalid or does not upgrade the whole cluster, which is a mistake in the source.
func DescribeUpgrade(s Spec) Spec {
	s = s.WithDefaults()
	err := s.Validate()
	switch {
	case err != nil:
	case upgrade != nil:
		err = fmt.Errorf("scenario %s: %s is the one that upgrades", s.Name, upgrade.Name)
	case !slices.ContainsFunc(s.Faults, isFault[fault.UpgradeControlPlane]) || !slices.ContainsFunc(s.Faults, isFault[fault.UpgradeWorkers]):
		err = fmt.Errorf("scenario %s: want faults that upgrade the control plane and the workers", s.Name)
	}
	if err != nil {
		panic(err)
	}
	upgrade = &s
	return s
}

// isFault reports whether a fault is of a type.
func isFault[T fault.Fault](f fault.Fault) bool {
	_, of := f.(T)
	return of
}

// Upgrade is the scenario that upgrades a cluster to a version. After is called when the control plane is upgraded, and before is
// called before the first worker is drained. Both may be nil.
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
