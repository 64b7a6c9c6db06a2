package node

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestGaps(t *testing.T) {
	const s = time.Second
	at := func(asked, answered time.Duration, good bool) apiAnswer { return apiAnswer{asked, answered, good} }
	for name, c := range map[string]struct {
		answers          []apiAnswer
		longest, failing time.Duration
		failed           int
	}{
		"none":                 {nil, 0, 0, 0},
		"one":                  {[]apiAnswer{at(1*s, 2*s, true)}, 0, 0, 0},
		"a slow one":           {[]apiAnswer{at(1*s, 2*s, true), at(3*s, 7*s, true), at(8*s, 9*s, true)}, 5 * s, 0, 0},
		"one fails":            {[]apiAnswer{at(1*s, 2*s, true), at(3*s, 4*s, false), at(5*s, 6*s, true)}, 4 * s, 1 * s, 1},
		"every other fails":    {[]apiAnswer{at(0, 0, true), at(1*s, 2*s, false), at(3*s, 3*s, true), at(4*s, 5*s, false), at(6*s, 6*s, true)}, 3 * s, 4 * s, 2},
		"fails twice":          {[]apiAnswer{at(0, 0, true), at(1*s, 2*s, false), at(3*s, 3*s, true), at(8*s, 9*s, false), at(13*s, 15*s, false)}, 12 * s, 7 * s, 3},
		"fails to the end":     {[]apiAnswer{at(1*s, 2*s, true), at(3*s, 4*s, false), at(5*s, 9*s, false)}, 7 * s, 6 * s, 2},
		"fails from the start": {[]apiAnswer{at(1*s, 2*s, false), at(3*s, 4*s, true)}, 2 * s, 1 * s, 1},
	} {
		longest, failing, failed := gaps(c.answers)
		if longest != c.longest || failing != c.failing || failed != c.failed {
			t.Errorf("%s: %s, %s, %d; want %s, %s, %d", name, longest, failing, failed, c.longest, c.failing, c.failed)
		}
	}
}

func TestParseAnswers(t *testing.T) {
	answers, last, err := parseAnswers("cp2 1000000 1020000 200\nbalanced 2 4 000\ncp2 3000000 3000001 500\nend asked to\ncp")
	must(t, err)
	want := map[string][]apiAnswer{
		"cp2":      {{time.Second, 1020 * time.Millisecond, true}, {3 * time.Second, 3*time.Second + time.Microsecond, false}},
		"balanced": {{2 * time.Microsecond, 4 * time.Microsecond, false}},
	}
	if diff := cmp.Diff(want, answers, cmp.AllowUnexported(apiAnswer{})); diff != "" || last != probeStopped {
		t.Errorf("last %q (-want +got):\n%s", last, diff)
	}
	for _, bad := range []string{"bash: curl: not found\n", "cp2 x 2 200\n", "cp2 1 2\n"} {
		if _, _, err := parseAnswers(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
