package reports

import (
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// A number is beside its limit, in the same unit. A limit of a number that was not measured is not shown.
func TestMeasures(t *testing.T) {
	var v verdict.Verdict
	for name, number := range map[string]float64{
		"slowestSeconds.fresh": 0.87, "leastHealthy": 5, "failedShare.fresh": 0.153, "upperBound95.fresh": 0.0018, "lagP99Seconds.reused": 0.004,
	} {
		v.Measure(name, number)
	}
	v.AtMost("slowestSeconds.fresh", 2.3)
	v.AtLeast("leastHealthy", 4)
	v.AtMost("failedShare.fresh", 0.21)
	v.AtMost("recoveredSeconds", 15)
	r := newVerdict(v)
	want := []string{"failed share, fresh 15 % (at most 21 %)", "least healthy 5 (at least 4)", "slowest, fresh 870 ms (at most 2.3 s)"}
	if diff := cmp.Diff(want, texts(r.Limited())); diff != "" {
		t.Errorf("limited (-want +got):\n%s", diff)
	}
	want = []string{"lag p99, reused 4 ms", "upper bound95, fresh 0.0018"}
	if diff := cmp.Diff(want, texts(r.Others())); diff != "" {
		t.Errorf("others (-want +got):\n%s", diff)
	}
}

func texts[S fmt.Stringer](list []S) (all []string) {
	for _, one := range list {
		all = append(all, one.String())
	}
	return all
}
