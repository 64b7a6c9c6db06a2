package judge_test

import (
	"encoding/json"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// A fix is judged by the cause that it is for, and by how many requests fail with it. That nothing fails any more is said only where that was seen.
func TestWhatAFixDid(t *testing.T) {
	const late, cut = "requests were sent to a pod that had stopped listening", "requests were cut by a server"
	counted := func(failed float64) []verdict.Verdict {
		return []verdict.Verdict{{Kind: "AnswersWithin"}, {Numbers: map[string]float64{"failed": failed, "requests": 6000}}}
	}
	fix := judge.Remedy{Rule: "no-prestop", Why: late, Fix: json.RawMessage(`[{}]`)}
	broken := judge.Tried{Outcome: verdict.Violated, Verdicts: counted(30), Remedies: []judge.Remedy{fix, {Why: "advice without a fix"}}}
	uncounted := broken
	uncounted.Verdicts = nil
	for name, test := range map[string]struct {
		before, again judge.Tried
		want          string
	}{
		"held": {broken, judge.Tried{Outcome: verdict.Held, Verdicts: counted(0)}, "cured by no-prestop, as far as one run shows: 0 of 6000 requests failed, and without it 30 of 6000"},
		"no request failed, and a rollout did not end": {
			judge.Tried{Outcome: verdict.Violated, Verdicts: counted(0), Remedies: broken.Remedies}, judge.Tried{Outcome: verdict.Held, Verdicts: counted(0)}, "cured by no-prestop, as far as one run shows",
		},
		"few failed, as by chance": {
			judge.Tried{Outcome: verdict.Violated, Verdicts: counted(1), Remedies: broken.Remedies}, judge.Tried{Outcome: verdict.Held, Verdicts: counted(0)},
			"it is not known whether no-prestop cures it, because so few requests fail by chance, too: 0 of 6000 requests failed, and without it 1 of 6000",
		},
		"five failed": {
			judge.Tried{Outcome: verdict.Violated, Verdicts: counted(5)}, judge.Tried{Outcome: verdict.Held, Verdicts: counted(0)},
			"it is not known whether no-prestop cures it, because so few requests fail by chance, too: 0 of 6000 requests failed, and without it 5 of 6000",
		},
		"six failed": {
			judge.Tried{Outcome: verdict.Violated, Verdicts: counted(6)}, judge.Tried{Outcome: verdict.Held, Verdicts: counted(0)},
			"cured by no-prestop, as far as one run shows: 0 of 6000 requests failed, and without it 6 of 6000",
		},
		"another cause": {
			broken, judge.Tried{Outcome: verdict.Violated, Verdicts: counted(3), Remedies: []judge.Remedy{{Why: cut + ": let it finish"}}},
			"cured by no-prestop of what it is for: 3 of 6000 requests failed, and without it 30 of 6000; what is left has another cause: " + cut + ": let it finish",
		},
		"the same cause": {
			broken, judge.Tried{Outcome: verdict.Violated, Verdicts: counted(20), Remedies: []judge.Remedy{{Why: cut + ": let it finish"}, {Why: late + ": let it sleep longer"}}},
			"not cured by no-prestop: 20 of 6000 requests failed, and without it 30 of 6000",
		},
		"another cause, and far more failures": {
			broken, judge.Tried{Outcome: verdict.Violated, Verdicts: counted(400), Remedies: []judge.Remedy{{Why: cut + ": let it finish"}}},
			"made worse by no-prestop: 400 of 6000 requests failed, and without it 30 of 6000",
		},
		"a few more by chance": {
			broken, judge.Tried{Outcome: verdict.Violated, Verdicts: counted(45)}, "not cured by no-prestop: 45 of 6000 requests failed, and without it 30 of 6000",
		},
		"no known cause, and nothing counted": {uncounted, judge.Tried{Outcome: verdict.Violated}, "not cured by no-prestop"},
		"unknown":                             {broken, judge.Tried{Outcome: verdict.Unknown, Verdicts: counted(0)}, "it is not known whether no-prestop cures it, because it could not be judged again"},
		"not judged":                          {broken, judge.Tried{}, "it is not known whether no-prestop cures it, because it could not be judged again"},
	} {
		if got := test.before.Cured(test.again, "no-prestop"); got != test.want {
			t.Errorf("%s: got %q, want %q", name, got, test.want)
		}
	}
}
