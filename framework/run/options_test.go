package run

import (
	"testing"
	"time"
)

func TestTheTimeBudgetIsBounded(t *testing.T) {
	for o, valid := range map[*Options]bool{
		{}: true, {TimeBudget: time.Hour}: true, {TimeBudget: -time.Hour}: false, {TimeBudget: time.Hour, Incident: "x"}: false,
	} {
		if err := o.Validate(); (err == nil) != valid {
			t.Errorf("%s of incident %q: %v", o.TimeBudget, o.Incident, err)
		}
	}
}
