package judge

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

func TestWorthOfARun(t *testing.T) {
	type of = runfolder.ScenarioResult
	held, failed := of{Name: "a", Outcome: "held"}, of{Name: "b", Error: "no engine"}
	whole := func(results ...of) runfolder.File {
		return runfolder.File{ID: "r1", Seed: 1, Ended: time.Unix(60, 0), Scenarios: results}
	}
	chosen := func(f runfolder.File, names ...string) runfolder.File {
		for _, name := range names {
			f.Chosen = append(f.Chosen, runfolder.Chosen{Name: name})
		}
		return f
	}
	killed := whole(held)
	killed.Ended = time.Time{}
	nameless, seedless := whole(held), whole(held)
	nameless.ID, seedless.Seed = "", 0
	for name, test := range map[string]struct {
		run  runfolder.File
		want Worth
	}{
		"all held":                        {whole(held, held), RunHeld},
		"all that was chosen":             {chosen(whole(held), "a"), RunHeld},
		"one violated":                    {whole(held, of{Outcome: "violated"}), RunViolated},
		"violated and not judged":         {whole(of{}, of{Outcome: "violated"}), RunViolated},
		"violated and interrupted":        {whole(of{Outcome: "violated", Interrupted: "in disturbed"}, of{NotBegun: "no"}), RunViolated},
		"violated in a failure":           {whole(of{Outcome: "violated", Error: "no engine"}), RunViolated},
		"violated in a killed run":        {runfolder.File{Scenarios: []of{{Outcome: "violated"}}}, RunViolated},
		"one unknown":                     {whole(of{Outcome: "unknown"}, held), RunUnknown},
		"one not judged":                  {whole(held, of{}), RunUnknown},
		"a word of a later version":       {whole(of{Outcome: "perhaps"}), RunUnknown},
		"nothing":                         {whole(), RunUnknown},
		"one not supported":               {whole(held, of{NotSupported: "no netem"}), RunHeld},
		"none supported":                  {whole(of{NotSupported: "no netem"}), RunUnknown},
		"not supported, but violated":     {whole(held, of{NotSupported: "no netem", Outcome: "violated"}), RunViolated},
		"the environment failed":          {whole(held, failed), RunFailed},
		"held, and then the failure":      {whole(of{Outcome: "held", Error: "revert: no engine"}), RunFailed},
		"failed, and something is beside": {whole(of{Outcome: "unknown"}, failed), RunFailed},
		"one interrupted":                 {whole(held, of{Interrupted: "in steady"}), RunInterrupted},
		"held, they say, and interrupted": {whole(of{Outcome: "held", Interrupted: "in steady"}), RunInterrupted},
		"one not begun":                   {whole(held, failed, of{NotBegun: "--time-budget"}), RunInterrupted},
		"killed":                          {killed, RunUnknown},
		"killed before three others":      {chosen(killed, "a", "b", "c", "d"), RunUnknown},
		"one chosen and gone":             {chosen(whole(held), "a", "b"), RunUnknown},
		"without a name":                  {nameless, RunUnknown},
		"without a seed":                  {seedless, RunUnknown},
	} {
		if got := WorthOf(test.run); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
	want := []string{
		"the run did not end: it was killed, or is still running",
		"the run has no result of 7 scenarios of the 8 that were chosen: b, c, d, e, f and 2 more",
	}
	if diff := cmp.Diff(want, Lacks(chosen(killed, "a", "b", "c", "d", "e", "f", "g", "h"))); diff != "" {
		t.Errorf("it lacks (-want +got):\n%s", diff)
	}
}
