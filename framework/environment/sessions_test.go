package environment

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/load"
)

// TestPartOfAPlan: several workers together send at the rates of the lanes, and what one is given leaves the plan as it was.
func TestPartOfAPlan(t *testing.T) {
	plan := load.Plan{ID: "a", Lanes: []load.Lane{{Lane: "fresh", Rate: 100}, {Lane: "control", Rate: 20}}}
	part := partOf(plan, 4)
	if part.ID != "a" || part.Lanes[0].Rate != 25 || part.Lanes[1].Rate != 5 || plan.Lanes[0].Rate != 100 {
		t.Errorf("a fourth of %+v is %+v", plan, part)
	}
}
