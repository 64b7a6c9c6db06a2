package invariant_test

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

func TestEncode(t *testing.T) {
	for _, s := range []struct {
		promise invariant.Invariant
		params  string
	}{
		{invariant.NoFailedRequests{}, `{}`},
		{invariant.NoFailedRequests{Lanes: []history.Lane{"fresh"}}, `{"lanes":["fresh"]}`},
		{invariant.NoFailedRequests{Lanes: []history.Lane{"fresh", "reused"}}, `{"lanes":["fresh","reused"]}`},
		{invariant.NoFailedRequests{Refused: true}, `{"refused":true}`},
		{invariant.FewFailedRequests{AtMost: 3, By: "holdfast.yaml"}, `{"atMost":3,"by":"holdfast.yaml"}`},
		{invariant.FewFailedRequests{Lanes: []history.Lane{"fresh"}, AtMost: 1}, `{"lanes":["fresh"],"atMost":1}`},
		{invariant.FewFailedRequests{Lanes: []history.Lane{"fresh", "reused"}, Share: 0.001}, `{"lanes":["fresh","reused"],"share":0.001}`},
		{invariant.DrainBlocked{}, `{}`},
		{invariant.DrainBlocked{Budget: "b", For: time.Second}, `{"budget":"b","for":1000000000}`},
		{invariant.DrainCompletes{}, `{}`},
		{invariant.DrainCompletes{Workload: "w", Unready: true}, `{"workload":"w","unready":true}`},
		{invariant.RolloutCompletes{}, `{}`},
		{invariant.RolloutCompletes{Workload: "w"}, `{"workload":"w"}`},
		{invariant.FailuresEndWithin{}, `{}`},
		{invariant.FailuresEndWithin{Limit: time.Second, Service: "backend"}, `{"limit":1000000000,"service":"backend"}`},
		{invariant.BudgetHonoured{}, `{}`},
		{invariant.BudgetHonoured{Budget: "b", MustRefuse: true, AtLeast: 3, Workload: "w"}, `{"budget":"b","mustRefuse":true,"atLeast":3,"workload":"w"}`},
		{invariant.Spread{Workload: "w", TopologyKey: "zone", Max: 1}, `{"workload":"w","topologyKey":"zone","max":1}`},
		{invariant.Spread{TopologyKey: "zone", Waiting: true}, `{"topologyKey":"zone","max":0,"waiting":true}`},
		{invariant.SpreadWithin{Workload: "w", TopologyKey: "zone", Max: 1, Limit: time.Minute}, `{"workload":"w","topologyKey":"zone","max":1,"limit":60000000000}`},
		{invariant.SpreadTogether{TopologyKey: "zone", Max: 1}, `{"topologyKey":"zone","max":1}`},
		{invariant.Placed{}, `{}`},
		{invariant.Placed{Workload: "w", Pending: 1, Surge: 1}, `{"workload":"w","pending":1,"surge":1}`},
		{invariant.Placement{}, `{}`},
		{invariant.Placement{Workload: "w"}, `{"workload":"w"}`},
		{invariant.RecoversWithin{Limit: time.Minute}, `{"limit":60000000000}`},
		{invariant.RecoversWithin{Limit: time.Minute, Workload: "w"}, `{"limit":60000000000,"workload":"w"}`},
		{invariant.ReplacedWithin{Limit: time.Minute}, `{"limit":60000000000}`},
		{invariant.ReplacedWithin{Limit: time.Minute, Workload: "w"}, `{"limit":60000000000,"workload":"w"}`},
		{invariant.AuditMends{Rules: []string{"no-budget", "no-prestop"}, Workload: "w"}, `{"rules":["no-budget","no-prestop"],"workload":"w"}`},
		{invariant.ResizedInPlace{Workload: "w"}, `{"workload":"w"}`},
		{invariant.PressureLeaves{AtLeast: 4}, `{"atLeast":4}`},
		{invariant.PressureLeaves{AtLeast: 1, DespiteBudget: true, Workload: "w"}, `{"atLeast":1,"despiteBudget":true,"workload":"w"}`},
		{invariant.PolicyEnforced{}, `{}`},
		{invariant.AnswersWithin{}, `{}`},
		{invariant.AnswersWithin{Lanes: []history.Lane{"fresh"}, Slowest: second, P99: 50 * ms}, `{"lanes":["fresh"],"slowest":1000000000,"p99":50000000}`},
		{invariant.APIAnswersWithin{Limit: 10 * second}, `{"limit":10000000000}`},
		{invariant.QuietWithin{Limit: 3 * second}, `{"limit":3000000000}`},
		{invariant.QuietWithin{Limit: second, Lane: "reused", Terminations: 100}, `{"limit":1000000000,"lane":"reused","terminations":100}`},
		{invariant.SharesLoad{AtLeast: 0.25, Within: 10 * second}, `{"atLeast":0.25,"within":10000000000}`},
		{invariant.SharesLoad{AtLeast: 0.5, Together: true, Lane: "stream", Workload: "w"}, `{"atLeast":0.5,"together":true,"lane":"stream","workload":"w"}`},
	} {
		p, err := invariant.Encode(s.promise)
		if err != nil || p.Kind != invariant.Kind(s.promise) || string(p.Params) != s.params {
			t.Errorf("%s is %s %s, %v; want %s", s.promise, p.Kind, p.Params, err, s.params)
		}
		back, err := invariant.Decode(p)
		if diff := cmp.Diff(s.promise, back); err != nil || diff != "" {
			t.Errorf("%s comes back: %v (-want +got):\n%s", s.promise, err, diff)
		}
		checkSaid(t, p.Kind, s.promise.String())
	}
}

func TestEncodeUnknown(t *testing.T) {
	_, err := invariant.Encode(foreign{})
	if want := `encode promise "something else": kind foreign is not one that a record can hold`; err == nil || err.Error() != want {
		t.Errorf("%v, want %s", err, want)
	}
}

func TestDecode(t *testing.T) {
	if got, err := invariant.Decode(history.Promise{Kind: "NoFailedRequests"}); err != nil || got.String() != "no request fails on any lane" {
		t.Errorf("without parameters: %v, %v", got, err)
	}
	for params, want := range map[string]string{
		`{"lane":"fresh"}`:  `decode promise NoFailedRequests: json: unknown field "lane"`,
		`{"lanes":"fresh"}`: `decode promise NoFailedRequests: json: cannot unmarshal string into Go struct field NoFailedRequests.lanes of type []history.Lane`,
		`{`:                 `decode promise NoFailedRequests: unexpected EOF`,
	} {
		_, err := invariant.Decode(history.Promise{Kind: "NoFailedRequests", Params: json.RawMessage(params)})
		if err == nil || err.Error() != want {
			t.Errorf("%s: %v, want %s", params, err, want)
		}
	}
}

// TestKinds: every kind can be made from nothing, and is called what its type is called.
func TestKinds(t *testing.T) {
	for _, kind := range invariant.Kinds() {
		i, err := invariant.Decode(history.Promise{Kind: kind})
		if err != nil || invariant.Kind(i) != kind {
			t.Errorf("%s makes a %T: %v", kind, i, err)
		}
	}
	if got := invariant.Kind(&invariant.Spread{}); got != "Spread" {
		t.Errorf("a pointer is a %s", got)
	}
}

// TestRoundTrip fills every parameter of every kind at random: what comes back is what was promised, and promises the
// same in words. A kind that is new is filled, too.
func TestRoundTrip(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 17))
	for _, kind := range invariant.Kinds() {
		for range 100 {
			empty, err := invariant.Decode(history.Promise{Kind: kind})
			if err != nil {
				t.Fatal(err)
			}
			filled := reflect.New(reflect.TypeOf(empty)).Elem()
			for i := range filled.NumField() {
				if random.IntN(3) > 0 {
					fill(t, random, filled.Field(i))
				}
			}
			promise := filled.Interface().(invariant.Invariant)
			stored, err := invariant.Encode(promise)
			if err != nil {
				t.Fatal(err)
			}
			line, err := json.Marshal(stored) // as the header of a record has it
			if err != nil {
				t.Fatal(err)
			}
			var read history.Promise
			if err := json.Unmarshal(line, &read); err != nil {
				t.Fatal(err)
			}
			back, err := invariant.Decode(read)
			if diff := cmp.Diff(promise, back); err != nil || diff != "" {
				t.Errorf("%s: %v (-want +got):\n%s", line, err, diff)
			}
			if err == nil && back.String() != promise.String() {
				t.Errorf("%q, want %q", back, promise)
			}
		}
	}
}

func fill(t *testing.T, random *rand.Rand, f reflect.Value) {
	t.Helper()
	switch f.Kind() {
	case reflect.String:
		f.SetString(fmt.Sprintf("näme \"%d\"\n", random.IntN(10)))
	case reflect.Bool:
		f.SetBool(random.IntN(2) == 0)
	case reflect.Int, reflect.Int64:
		f.SetInt(random.Int64() >> random.IntN(64))
	case reflect.Float64:
		f.SetFloat(random.NormFloat64())
	case reflect.Slice:
		f.Set(reflect.MakeSlice(f.Type(), 1+random.IntN(3), 3))
		for i := range f.Len() {
			fill(t, random, f.Index(i))
		}
	default:
		t.Fatalf("a parameter is a %s: teach this test to fill it", f.Type())
	}
}
