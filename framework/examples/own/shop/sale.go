package shop

import (
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/fault"
)

// Sale scales the workload through Peak replicas, as an autoscaler does during a sale. It builds on a fault of holdfast, and has
// its witness and its revert. See fault.Fault for what a fault from scratch has to prove.
type Sale struct{ fault.Scale }

// SaleOf is a sale with a peak of so many replicas.
func SaleOf(peak int) Sale { return Sale{fault.Scale{Through: []int{peak}}} }

func (s Sale) String() string { return fmt.Sprintf("a sale with %d replicas", s.Through[0]) }
