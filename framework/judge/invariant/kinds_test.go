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
		kind    string
		params  string
		words   string
	}{
		{invariant.NoFailedRequests{}, "NoFailedRequests", `{}`, "no request fails on any lane"},
		{invariant.NoFailedRequests{Lanes: []history.Lane{"fresh"}}, "NoFailedRequests", `{"lanes":["fresh"]}`, "no request fails on lane fresh"},
		{invariant.NoFailedRequests{Lanes: []history.Lane{"fresh", "reused"}}, "NoFailedRequests", `{"lanes":["fresh","reused"]}`,
			"no request fails on lanes fresh and reused"},
		{invariant.NoFailedRequests{Refused: true}, "NoFailedRequests", `{"refused":true}`, "no request fails on any lane, even while evictions are refused"},
		{invariant.FewFailedRequests{AtMost: 3, By: "holdfast.yaml"}, "FewFailedRequests", `{"atMost":3,"by":"holdfast.yaml"}`,
			"no more than 3 requests fail on all lanes together, as holdfast.yaml allows"},
		{invariant.FewFailedRequests{Lanes: []history.Lane{"fresh"}, AtMost: 1}, "FewFailedRequests", `{"lanes":["fresh"],"atMost":1}`,
			"no more than 1 request fails on lane fresh"},
		{invariant.FewFailedRequests{Lanes: []history.Lane{"fresh", "reused"}, Share: 0.001}, "FewFailedRequests", `{"lanes":["fresh","reused"],"share":0.001}`,
			"no more than 0.1 % of the requests fail on lanes fresh and reused together"},
		{invariant.DrainBlocked{}, "DrainBlocked", `{}`,
			"the budget refuses each eviction of its pods while the faults are in force, and none of them ends"},
		{invariant.DrainBlocked{Budget: "b", For: time.Second}, "DrainBlocked", `{"budget":"b","for":1000000000}`,
			"budget b refuses each eviction of its pods while the faults are in force, and none of them ends; it does so for at least 1s"},
		{invariant.DrainCompletes{}, "DrainCompletes", `{}`, "a drain leaves no pod of the workload on its node"},
		{invariant.DrainCompletes{Workload: "w", Unready: true}, "DrainCompletes", `{"workload":"w","unready":true}`,
			"a drain leaves no pod of w on its node, not even one that is not ready and whose budget allows no disruption"},
		{invariant.RolloutCompletes{}, "RolloutCompletes", `{}`, "each rolling update of the workload comes to its end, and so does its rollback"},
		{invariant.RolloutCompletes{Workload: "w"}, "RolloutCompletes", `{"workload":"w"}`, "each rolling update of w comes to its end, and so does its rollback"},
		{invariant.FailuresEndWithin{}, "FailuresEndWithin", `{}`,
			"requests fail on any lane only until the cluster must have noticed the lost node, and only the victims' share of them fails"},
		{invariant.FailuresEndWithin{Limit: time.Second, Service: "backend"}, "FailuresEndWithin", `{"limit":1000000000,"service":"backend"}`,
			"requests fail on any lane only until 1s after a fault, and only the victims' share of them fails"},
		{invariant.BudgetHonoured{}, "BudgetHonoured", `{}`, "no eviction takes the healthy pods below what any budget demands"},
		{invariant.BudgetHonoured{Budget: "b", MustRefuse: true, AtLeast: 3, Workload: "w"}, "BudgetHonoured",
			`{"budget":"b","mustRefuse":true,"atLeast":3,"workload":"w"}`,
			"no eviction takes the healthy pods below what budget b demands, nor below 3; one is refused"},
		{invariant.Spread{Workload: "w", TopologyKey: "zone", Max: 1}, "Spread", `{"workload":"w","topologyKey":"zone","max":1}`,
			"w is spread over zone with a skew of at most 1 whenever it has settled"},
		{invariant.Spread{TopologyKey: "zone", Waiting: true}, "Spread", `{"topologyKey":"zone","max":0,"waiting":true}`,
			"the workload is spread over zone with a skew of at most 0 whenever each of its pods is ready or unschedulable"},
		{invariant.SpreadWithin{Workload: "w", TopologyKey: "zone", Max: 1, Limit: time.Minute}, "SpreadWithin",
			`{"workload":"w","topologyKey":"zone","max":1,"limit":60000000000}`,
			"the spread of w over zone is back at a skew of at most 1 within 1m0s of being unbalanced"},
		{invariant.SpreadTogether{TopologyKey: "zone", Max: 1}, "SpreadTogether", `{"topologyKey":"zone","max":1}`,
			"the pods of all workloads together are spread over zone with a skew of at most 1 whenever all have settled"},
		{invariant.Placed{}, "Placed", `{}`, "every pod of the workload has a node while the faults are active"},
		{invariant.Placed{Workload: "w", Pending: 1, Surge: 1}, "Placed", `{"workload":"w","pending":1,"surge":1}`,
			"1 pod of w (a surge of up to 1 included), no more and no fewer, have no node while the faults are active"},
		{invariant.Placement{}, "Placement", `{}`, "each pod of every Deployment is bound where the scheduler's hard rules allowed it at that moment"},
		{invariant.Placement{Workload: "w"}, "Placement", `{"workload":"w"}`,
			"each pod of w is bound where the scheduler's hard rules allowed it at that moment"},
		{invariant.RecoversWithin{Limit: time.Minute}, "RecoversWithin", `{"limit":60000000000}`, "the workload recovers within 1m0s"},
		{invariant.RecoversWithin{Limit: time.Minute, Workload: "w"}, "RecoversWithin", `{"limit":60000000000,"workload":"w"}`,
			"w recovers within 1m0s"},
		{invariant.ReplacedWithin{Limit: time.Minute}, "ReplacedWithin", `{"limit":60000000000}`,
			"all replicas of the workload are ready on other nodes within 1m0s of a fault, before it is reverted"},
		{invariant.ReplacedWithin{Limit: time.Minute, Workload: "w"}, "ReplacedWithin", `{"limit":60000000000,"workload":"w"}`,
			"all replicas of w are ready on other nodes within 1m0s of a fault, before it is reverted"},
		{invariant.AuditMends{Rules: []string{"no-budget", "no-prestop"}, Workload: "w"}, "AuditMends",
			`{"rules":["no-budget","no-prestop"],"workload":"w"}`,
			"the audit finds no-budget and no-prestop in w, and nothing after its patches are applied"},
		{invariant.ResizedInPlace{Workload: "w"}, "ResizedInPlace", `{"workload":"w"}`,
			"the pods of w are resized in place: no pod ends, and no container restarts"},
		{invariant.PressureLeaves{AtLeast: 4}, "PressureLeaves", `{"atLeast":4}`, "node pressure leaves at least 4 ready pods of the workload"},
		{invariant.PressureLeaves{AtLeast: 1, DespiteBudget: true, Workload: "w"}, "PressureLeaves",
			`{"atLeast":1,"despiteBudget":true,"workload":"w"}`,
			"node pressure leaves at least 1 ready pod of w, even though the kubelet evicts pods that a budget protects"},
		{invariant.PolicyEnforced{}, "PolicyEnforced", `{}`,
			"an admission policy refuses each manifest that it must refuse, and no other, while it is active"},
		{invariant.AnswersWithin{}, "AnswersWithin", `{}`,
			"the slowest answer on any lane takes at most 2s longer than while nothing is disturbed, and 99 of 100 at most 1s longer"},
		{invariant.AnswersWithin{Lanes: []history.Lane{"fresh"}, Slowest: second, P99: 50 * ms}, "AnswersWithin",
			`{"lanes":["fresh"],"slowest":1000000000,"p99":50000000}`,
			"the slowest answer on lane fresh takes at most 1s longer than while nothing is disturbed, and 99 of 100 at most 50ms longer"},
		{invariant.APIAnswersWithin{Limit: 10 * second}, "APIAnswersWithin", `{"limit":10000000000}`, "every remaining API server answers again within 10s"},
		{invariant.QuietWithin{Limit: 3 * second}, "QuietWithin", `{"limit":3000000000}`, "no new connection reaches a pod later than 3s after its deletion"},
		{invariant.QuietWithin{Limit: second, Lane: "reused", Terminations: 100}, "QuietWithin",
			`{"limit":1000000000,"lane":"reused","terminations":100}`, "no request on reused reaches a pod later than 1s after its deletion"},
		{invariant.SharesLoad{AtLeast: 0.25, Within: 10 * second}, "SharesLoad", `{"atLeast":0.25,"within":10000000000}`,
			"from 10s after the last new pod is ready, each ready pod of the workload has at least 0.25 of an equal share of the requests on reused"},
		{invariant.SharesLoad{AtLeast: 0.5, Together: true, Lane: "stream", Workload: "w"}, "SharesLoad",
			`{"atLeast":0.5,"together":true,"lane":"stream","workload":"w"}`,
			"from 0s after the last new pod is ready, the new pods of w together have at least 0.5 of an equal share of the requests on stream"},
	} {
		p, err := invariant.Encode(s.promise)
		if err != nil || p.Kind != s.kind || string(p.Params) != s.params {
			t.Errorf("%s is %s %s, %v; want %s %s", s.promise, p.Kind, p.Params, err, s.kind, s.params)
		}
		back, err := invariant.Decode(p)
		if diff := cmp.Diff(s.promise, back); err != nil || diff != "" {
			t.Errorf("%s comes back: %v (-want +got):\n%s", s.promise, err, diff)
		}
		if s.promise.String() != s.words {
			t.Errorf("%q, want %q", s.promise, s.words)
		}
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
