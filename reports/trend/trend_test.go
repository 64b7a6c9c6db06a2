package trend_test

import (
	"encoding/json"
	"flag"
	"fmt"
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/holdfast-ha/holdfast/framework/base/stats"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// noise is by how much figures differ by chance, as a share of their level: recovery hardly does, latency does a lot.
const (
	recoveryNoise = 0.05
	latencyNoise  = 0.2
)

// usual is a scenario on an ordinary night.
func usual(name string, random *rand.Rand) scenario {
	noisy := func(level, noise float64) float64 { return level * math.Exp(noise*random.NormFloat64()) }
	return scenario{
		Name: name, Outcome: verdict.Held, Recovery: noisy(10, recoveryNoise), P99: noisy(0.004, latencyNoise), Blind: noisy(0.1, latencyNoise),
		Failed: uint64(noisy(150, recoveryNoise)),
	}
}

// planted are 30 nights of twelve scenarios. Each scenario but the steady ones has one thing that happens to it.
func planted(seed uint64) (list []night) {
	random := rand.New(rand.NewPCG(seed, 1))
	for number := range 30 {
		n := usualNight(number)
		if number >= 18 {
			n.Kubernetes = "v1.37.1"
		}
		if number >= 13 {
			n.Holdfast = "v0.2.0"
		}
		for _, name := range []string{"slower", "latency", "faster", "little", "late", "outlier", "failing", "broken", "alternating", "steady", "constant", "missed"} {
			s := usual("chaos/"+name, random)
			switch {
			case name == "slower" && number >= 18:
				s.Recovery *= 1.4
			case name == "latency" && number >= 12:
				s.P99 *= 2.5
			case name == "faster" && number >= 20:
				s.Recovery *= 0.7
			case name == "little" && number >= 15:
				s.P99 *= 1.05
			case name == "late" && number >= 28:
				s.Recovery *= 5
			case name == "outlier" && number == 17:
				s.P99 *= 1000
			case name == "failing" && number >= 10:
				s.Failed *= 2
			case name == "broken" && number >= 21:
				s.Outcome = verdict.Violated
			case name == "alternating" && number%2 == 0:
				s.P99 *= 10
			case name == "constant":
				s.Recovery, s.P99, s.Blind, s.Failed = 10, 0.004, 0.1, 0
			case name == "missed":
				s.Name, s.Mutant, s.Outcome, s.Failed = "mutants/missed", true, verdict.Violated, s.Failed*(1+uint64(number)/15) // more failures of what is broken on purpose
			}
			n.Scenarios = append(n.Scenarios, s)
		}
		list = append(list, n)
	}
	return list
}

// stored writes the nights and reads them again.
func stored(t *testing.T, list []night) []*trend.Night {
	t.Helper()
	root := t.TempDir()
	for _, n := range list {
		n.Store(t, root)
	}
	all, err := trend.Read(root)
	if err != nil {
		t.Fatal(err)
	}
	return all
}

// found is a moved figure in a few words.
func found(f trend.Finding) string {
	return fmt.Sprintf("%s %s %s since %s", f.Scenario, f.Figure.Name, map[bool]string{true: "worse", false: "better"}[f.Word == "regression"], f.Since.At.Format("2006-01-02"))
}

// moved are the findings about figures, and notGood all others.
func moved(t trend.Trend) (list []trend.Finding) {
	return slices.DeleteFunc(slices.Clone(t.Findings), func(f trend.Finding) bool { return f.Figure == nil })
}

func notGood(t trend.Trend) (list []trend.Finding) {
	return slices.DeleteFunc(slices.Clone(t.Findings), func(f trend.Finding) bool { return f.Figure != nil })
}

// TestPlantedShifts: what is planted in 30 stored runs is found, and nothing else is. TestPower says how often that is to be expected.
func TestPlantedShifts(t *testing.T) {
	got := trend.Of(stored(t, planted(1)), trend.DefaultLast)
	var list []string
	for _, c := range moved(got) {
		list = append(list, found(c))
	}
	slices.Sort(list)
	want := []string{
		"chaos/broken broken worse since 2026-01-22", "chaos/failing failed worse since 2026-01-11", "chaos/faster recovery better since 2026-01-21",
		"chaos/latency p99 worse since 2026-01-13", "chaos/slower recovery worse since 2026-01-19",
	}
	if diff := cmp.Diff(want, list); diff != "" {
		t.Errorf("changes (-want +got):\n%s", diff)
	}
	// Eleven scenarios with four figures that vary, less the constant one, of which the mutant has one; and a verdict that varies.
	if got.Result != trend.Regression || got.Tested != 10*4+1+1 || len(got.Left) != 0 || len(got.Lines) != 1 || got.Lines[0].Nights != 30 {
		t.Errorf("%+v", got)
	}
	for scenario, explained := range map[string]string{
		"chaos/slower":  "; changed in that night: Kubernetes v1.37.0 to v1.37.1 and node image holdfast/node:v1.37.0 to holdfast/node:v1.37.1",
		"chaos/latency": "; changed in that night: nothing that the record knows; close to it: holdfast v0.1.0 to v0.2.0",
		"chaos/broken":  "; changed in that night: nothing that the record knows",
	} {
		c := got.Findings[slices.IndexFunc(got.Findings, func(f trend.Finding) bool { return f.Scenario == scenario })]
		if !strings.HasSuffix(c.Text, explained) {
			t.Errorf("%s: %q, want %q", scenario, c.Text, explained)
		}
	}
	if bad := notGood(got); len(bad) != 1 || bad[0].Text != "chaos/broken: Violated, not good since 2026-01-22 02:00 (20260122-020000) (9 nights); good in 21 of 21 nights before" {
		t.Errorf("not good: %+v", bad)
	}
}

// inMemory are the nights without the detour over files, which is for many seeds.
func inMemory(list []night) (all []*trend.Night) {
	for _, n := range list {
		all = append(all, trend.NightOf(n.Report()))
	}
	return all
}

// simulations is the number of random series of each kind. README's figures are of 100, with `make bench`.
var simulations = flag.Int("simulations", 50, "random series of each kind in TestPower and TestFoundAsOftenAsComputed; TestFalseAlarms has four times as many")

// TestFalseAlarms: nothing is planted in most seeds, and the level is what it says. 12 scenarios have 48 figures that vary.
func TestFalseAlarms(t *testing.T) {
	seeds, alarms := uint64(4**simulations), uint64(0)
	for seed := range seeds {
		random := rand.New(rand.NewPCG(seed, 2))
		var list []night
		for number := range 30 {
			n := usualNight(number)
			for i := range 12 {
				n.Scenarios = append(n.Scenarios, usual(fmt.Sprintf("chaos/%d", i), random))
			}
			list = append(list, n)
		}
		if len(moved(trend.Of(inMemory(list), trend.DefaultLast))) > 0 {
			alarms++
		}
	}
	most := stats.MostOf(seeds, trend.Level, 0.001)
	t.Logf("%d false alarms in %d seeds; at most %d are believable at a level of %v", alarms, seeds, most, trend.Level)
	if alarms > most {
		t.Errorf("%d false alarms in %d seeds, and at most %d are believable", alarms, seeds, most)
	}
}

// TestPower: how often a shift is found, by its size in units of the figure's own noise and by the number of nights after it, among 42 figures
// in 30 nights. What the planted nights of TestPlantedShifts contain must be in the rows that are nearly always, or nearly never, found.
func TestPower(t *testing.T) {
	const tested, n = 42, 30
	seeds := *simulations
	for _, s := range []struct {
		sigmas float64
		after  int
		least  float64
		most   float64
	}{
		{0, 15, 0, 0.02}, {0.25, 15, 0, 0.04}, {1, 15, 0, 0.4}, {2, 15, 0.4, 0.9}, {3, 15, 0.95, 1}, {3, 8, 0.5, 1}, {4.5, 18, 0.97, 1},
		{7, 10, 0.97, 1}, {30, 2, 0, 0.02}, {30, 4, 0, 1}, {30, 5, 0, 1}, {30, 6, 0.97, 1},
	} {
		caught, near := 0, 0
		for seed := range uint64(seeds) {
			random := rand.New(rand.NewPCG(seed, 3))
			values := make([]float64, n)
			for i := range values {
				values[i] = random.NormFloat64()
				if i >= n-s.after {
					values[i] += s.sigmas
				}
			}
			shift := (&stats.Shifts{Draws: 10 * tested / trend.Level, Random: random.IntN}).Of(values)
			if shift.P <= trend.Level/tested {
				caught++
				if d := shift.At - (n - s.after); -1 <= d && d <= 1 {
					near++
				}
			}
		}
		share := float64(caught) / float64(seeds)
		t.Logf("%.2f sigma, %d nights after: found in %.0f %% of seeds, of those %d of %d within a night", s.sigmas, s.after, 100*share, near, caught)
		if share < s.least || share > s.most {
			t.Errorf("%v sigma, %d nights after: found in %v of seeds, want %v to %v", s.sigmas, s.after, share, s.least, s.most)
		}
	}
}

// TestFoundAsOftenAsComputed: a trend of all figures finds a middling shift as often as the single test at the corrected level does.
func TestFoundAsOftenAsComputed(t *testing.T) {
	const after, sigmas, others = 12, 2.0, 6
	seeds := *simulations
	inTrend, alone := 0, 0
	for seed := range uint64(seeds) {
		random := rand.New(rand.NewPCG(seed, 4))
		var list []night
		var values []float64
		for number := range 30 {
			n := usualNight(number)
			for i := range others + 1 {
				s := usual(fmt.Sprintf("chaos/%d", i), random)
				if i == 0 && number >= 30-after {
					s.P99 *= math.Exp(sigmas * latencyNoise)
				}
				if i == 0 {
					values = append(values, s.P99)
				}
				n.Scenarios = append(n.Scenarios, s)
			}
			list = append(list, n)
		}
		found := trend.Of(inMemory(list), trend.DefaultLast)
		if slices.ContainsFunc(moved(found), func(f trend.Finding) bool {
			return f.Scenario == "chaos/0" && f.Figure.Name == "p99" && f.Word == "regression"
		}) {
			inTrend++
		}
		if (&stats.Shifts{Draws: 10 * 4 * (others + 1) / trend.Level, Random: rand.New(rand.NewPCG(seed, 5)).IntN}).Of(values).P <= trend.Level/(4*(others+1)) {
			alone++
		}
	}
	t.Logf("a shift of %v sigma for %d nights: found in %d of %d trends, %d computed", sigmas, after, inTrend, seeds, alone)
	if d := inTrend - alone; d < -6 || d > 6 || alone < seeds/10 || alone > seeds*9/10 { // both look at the same values; permutations are drawn apart
		t.Errorf("found in %d of %d trends, %d computed", inTrend, seeds, alone)
	}
}

// repeated are so many nights of one scenario.
func repeated(count int, edit func(number int, n *night, s *scenario)) (list []night) {
	random := rand.New(rand.NewPCG(7, 7))
	for number := range count {
		n := usualNight(number)
		s := usual("chaos/a", random)
		edit(number, &n, &s)
		n.Scenarios = append(n.Scenarios, s)
		list = append(list, n)
	}
	return list
}

// TestNightsThatMustNotBeMixed: each has a figure that depends on what differs, and that nothing has changed.
func TestNightsThatMustNotBeMixed(t *testing.T) {
	for name, s := range map[string]struct {
		edit    func(number int, n *night, s *scenario)
		nights  int
		lines   int
		changes []string
	}{
		"proxy modes in turn": {func(number int, n *night, s *scenario) {
			if number%2 == 0 {
				n.ProxyMode, s.P99 = "iptables", s.P99*9
			}
		}, 60, 2, nil},
		"a new proxy mode": {func(number int, n *night, s *scenario) {
			if number >= 30 {
				n.ProxyMode, s.P99 = "iptables", s.P99*9
			}
		}, 60, 2, nil},
		"a new minor version of Kubernetes": {func(number int, n *night, s *scenario) {
			if number >= 30 {
				n.Kubernetes, s.P99 = "v1.38.0", s.P99*9
			}
		}, 60, 2, nil},
		"a new CPU, which is named": {func(number int, n *night, s *scenario) {
			if number >= 20 {
				n.CPU, s.P99 = "Other CPU", s.P99*9
			}
		}, 30, 1, []string{"chaos/a p99 worse since 2026-01-21; changed in that night: CPU Some CPU to Other CPU"}},
	} {
		t.Run(name, func(t *testing.T) {
			found60 := trend.Of(inMemory(repeated(s.nights, s.edit)), trend.DefaultLast)
			var got []string
			for _, c := range moved(found60) {
				_, also, _ := strings.Cut(c.Text, "; ")
				got = append(got, found(c)+"; "+also)
			}
			if diff := cmp.Diff(s.changes, got); diff != "" {
				t.Errorf("changes (-want +got):\n%s", diff)
			}
			if len(found60.Lines) != s.lines {
				t.Errorf("%d lines, want %d", len(found60.Lines), s.lines)
			}
		})
	}
}

func TestTooFewNights(t *testing.T) {
	shifted := func(number int, _ *night, s *scenario) {
		if number >= 5 {
			s.Recovery *= 9
		}
	}
	few := trend.Of(inMemory(repeated(9, shifted)), trend.DefaultLast)
	if few.Result != trend.TooFew || few.Needed != 10 || few.Summary != "too few nights to tell: at least 10 with a figure are needed, half of them after a change" {
		t.Errorf("%s: %+v", few.Summary, few)
	}
	// With 10 nights there are four figures that could have moved, and the correction for four asks for twelve.
	if more := trend.Of(inMemory(repeated(10, shifted)), trend.DefaultLast); more.Result != trend.TooFew || more.Needed != 12 {
		t.Errorf("%+v", more)
	}
	if enough := trend.Of(inMemory(repeated(14, shifted)), trend.DefaultLast); enough.Result != trend.Regression || enough.Findings[0].Since.ID != "20260106-020000" {
		t.Errorf("%+v", enough)
	}
	if last := trend.Of(inMemory(repeated(40, shifted)), 9); last.Result != trend.TooFew {
		t.Errorf("of the last 9: %+v", last)
	}
	if none := trend.Of(nil, trend.DefaultLast); none.Result != trend.TooFew {
		t.Errorf("of nothing: %+v", none)
	}
}

// TestNightsWithoutFigures: nights that were not judged, and nights of other scenarios, change nothing but the number of figures.
func TestNightsWithoutFigures(t *testing.T) {
	list := repeated(40, func(number int, n *night, s *scenario) {
		switch {
		case number%5 == 3:
			s.Outcome, s.Recovery, s.P99 = verdict.Unknown, 1000, 1000
		case number%5 == 4:
			s.Name = "chaos/b"
		case number >= 25:
			s.Recovery *= 1.6
		}
	})
	list = slices.Delete(list, 7, 9) // nights in which nothing ran
	got := trend.Of(inMemory(list), 40)
	if len(moved(got)) != 1 || found(got.Findings[0]) != "chaos/a recovery worse since 2026-01-26" || got.Findings[0].Figure.Nights != [2]int{14, 9} {
		t.Errorf("%+v", got.Findings)
	}
	if l := got.Lines[0]; l.NotJudged != 7 || l.Nights != 38 || got.TooFew == 0 {
		t.Errorf("%+v", l)
	}
}

// TestALineThatEnded: what moved in nights long ago is no news.
func TestALineThatEnded(t *testing.T) {
	list := repeated(100, func(number int, n *night, s *scenario) {
		if number < 30 {
			n.Kubernetes = "v1.36.3"
		}
		if number >= 15 && number < 30 {
			s.Recovery *= 3
		}
	})
	got := trend.Of(inMemory(list), trend.DefaultLast)
	if got.Result != trend.None || len(got.Lines) != 2 || !got.Lines[0].Ended || got.Lines[1].Ended || !strings.Contains(got.Lines[0].Text(), "left out, because its last night was long ago") {
		t.Errorf("%+v", got)
	}
}

// TestUnknownVerdicts: a scenario that is Unknown again and again has got worse, and one that was Unknown once is named only.
func TestUnknownVerdicts(t *testing.T) {
	again := trend.Of(inMemory(repeated(30, func(number int, _ *night, s *scenario) {
		if number >= 20 {
			s.Outcome = verdict.Unknown
		}
	})), trend.DefaultLast)
	if len(moved(again)) != 1 || found(again.Findings[0]) != "chaos/a unknown worse since 2026-01-21" || again.Findings[0].Figure.Before != 0 || again.Findings[0].Figure.After < 0.999 {
		t.Errorf("%+v", again.Findings)
	}
	once := trend.Of(inMemory(repeated(30, func(number int, _ *night, s *scenario) {
		if number == 29 {
			s.Outcome = verdict.Unknown
		}
	})), trend.DefaultLast)
	if once.Result != trend.None || len(once.Findings) != 1 || once.Findings[0].Word != "unknown" || !strings.Contains(once.Findings[0].Text, "(1 night); good in 29 of 29") {
		t.Errorf("%+v", once)
	}
}

// TestTheSameNightsHaveTheSameTrend, although permutations are drawn at random.
func TestTheSameNightsHaveTheSameTrend(t *testing.T) {
	all := inMemory(planted(3))
	if diff := cmp.Diff(trend.Of(all, 30).Findings, trend.Of(all, 30).Findings, cmpopts.IgnoreUnexported(trend.Night{}, trend.Scenario{})); diff != "" {
		t.Error(diff)
	}
}

func TestText(t *testing.T) {
	all := stored(t, planted(1))
	all[4].Trouble = "it was killed"
	again := *all[6]
	again.Dir = "copy"
	all = slices.Insert(all, 7, &again)
	var text strings.Builder
	got := trend.Of(all, trend.DefaultLast)
	if err := got.WriteText(&text); err != nil {
		t.Fatal(err)
	}
	doc, err := json.Marshal(got)
	if err != nil {
		t.Fatal(err)
	}
	for _, part := range []string{
		"Kubernetes v1.37, timings lab, nftables, kind, podman, 4 cores amd64: 30 nights, 2026-01-01 to 2026-01-30",
		"\nREGRESSION  chaos/slower, recovery: ", " in 18 nights before, ", " in 12 nights since 2026-01-19 02:00 (20260119-020000) (Cliff's delta +1.00, p ",
		"); changed in that night: Kubernetes v1.37.0 to v1.37.1 and node image ",
		"\nimprovement chaos/faster, recovery: ",
		"\nREGRESSION  chaos/broken, broken: 0 % in 21 nights before, 100 % in 9 nights since 2026-01-22 02:00 (20260122-020000) (Cliff's delta +1.00, p ",
		"\nbroken      chaos/broken: Violated, not good since 2026-01-22 02:00 (20260122-020000) (9 nights); good in 21 of 21 nights before",
		"\nleft out    20260105-020000: it was killed", "\nleft out    copy: the run is also in another folder",
		"\n1 scenario broken, 4 regressions, 1 improvement; 42 figures tested, with a false alarm in at most 1 % of trends",
	} {
		if !strings.Contains("\n"+text.String(), part) {
			t.Errorf("no %q in\n%s", part, text.String())
		}
	}
	if strings.Contains(string(doc), "null") || !strings.Contains(string(doc), `"schemaVersion":"holdfast.dev/trend/v2"`) {
		t.Errorf("%s", doc)
	}
}

// once is a night of one scenario that is as usual.
func once(number int, of string, edit func(*night, *scenario)) night {
	n := usualNight(number)
	s := usual("app/rollout", rand.New(rand.NewPCG(uint64(number), 8)))
	s.Of = of
	edit(&n, &s)
	n.Scenarios = append(n.Scenarios, s)
	return n
}

// TestWhatIsNoSuccess: a scenario that is broken, gone or was never good, in each of the ways in which a trend once said nothing of it and
// succeeded, and others; and what is none of that.
func TestWhatIsNoSuccess(t *testing.T) {
	good := func(*night, *scenario) {}
	broken := func(_ *night, s *scenario) { s.Outcome = verdict.Violated }
	newer := func(n *night, s *scenario) { n.Kubernetes = "v1.38.0" }
	nothing := func(_ *night, s *scenario) { s.Name = "app/drain" }
	// series are nights, of which each may be of another application.
	series := func(count int, of func(number int) (string, func(*night, *scenario))) []*trend.Night {
		var list []night
		for number := range count {
			name, edit := of(number)
			list = append(list, once(number, name, edit))
		}
		return inMemory(list)
	}
	both := func(count int, second func(number int) func(*night, *scenario)) []*trend.Night {
		return series(count, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", func(n *night, s *scenario) {
				other := *s
				other.Name = "app/drain"
				n.Scenarios = append(n.Scenarios, other)
				second(number)(n, s)
			}
		})
	}
	since := func(from int, edit func(*night, *scenario)) func(int) func(*night, *scenario) {
		return func(number int) func(*night, *scenario) {
			if number >= from {
				return edit
			}
			return good
		}
	}
	unknown := func(_ *night, s *scenario) { s.Outcome = verdict.Unknown }
	// inTurn has some nights in another environment, with what happens to them.
	inTurn := func(elsewhere func(number int) bool, there func(int) func(*night, *scenario)) func(int) (string, func(*night, *scenario)) {
		return func(number int) (string, func(*night, *scenario)) {
			return "shop/web", func(n *night, s *scenario) {
				if elsewhere(number) {
					n.ProxyMode = "iptables"
					there(number)(n, s)
				}
			}
		}
	}
	killed := both(20, since(20, good))
	killed[19].Trouble = "the run did not end: it was killed, or is still running"
	unsupported := both(30, since(30, good))
	for i := 27; i < 30; i++ {
		for j := range unsupported[i].Scenarios {
			if s := &unsupported[i].Scenarios[j]; s.Name == "app/rollout" {
				s.Result = reports.Unsupported
			}
		}
	}
	killedBefore := both(20, since(20, good))
	killedBefore[18].Trouble = "the run did not end: it was killed, or is still running"
	alone := series(20, func(number int) (string, func(*night, *scenario)) { return "shop/web", good })
	alone = append(alone, &trend.Night{Dir: "x", ID: "x", At: first.AddDate(0, 0, 21), Result: reports.Unknown, Trouble: "cannot be read"})
	for name, test := range map[string]struct {
		all    []*trend.Night
		want   trend.Result
		says   []string // in NotGood, or in the summary
		lines  int
		change bool
	}{
		"two applications, and one is broken": {series(40, func(number int) (string, func(*night, *scenario)) {
			if number%2 == 0 {
				return "cart/web", good
			}
			return "shop/web", since(20, broken)(number)
		}), trend.Regression, []string{"app/rollout: Violated, not good since 2026-01-22"}, 2, true},
		"two applications, and one is broken for few nights": {series(40, func(number int) (string, func(*night, *scenario)) {
			if number%2 == 0 {
				return "cart/web", good
			}
			return "shop/web", since(37, broken)(number)
		}), trend.Broken, []string{"app/rollout: Violated, not good since 2026-02-07", "1 scenario broken, 0 regressions"}, 2, false},
		"another application, which is slower": {series(40, func(number int) (string, func(*night, *scenario)) {
			if number < 19 {
				return "cart/web", good
			}
			return "shop/web", func(_ *night, s *scenario) { s.Recovery *= 3 }
		}), trend.Missing, []string{"app/rollout: not judged since 2026-01-20 02:00 (20260120-020000) (21 nights); good in 19 of 19 nights before"}, 2, false},
		"two applications in turn": {series(40, func(number int) (string, func(*night, *scenario)) {
			return []string{"cart/web", "shop/web"}[number%2], good
		}), trend.None, nil, 2, false},
		"broken, and no verdict since": {series(30, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(27, func(n *night, s *scenario) {
				if s.Outcome = verdict.Unknown; number == 27 {
					s.Outcome = verdict.Violated
				}
			})(number)
		}), trend.Missing, []string{"app/rollout: Unknown, not good since 2026-01-28 02:00 (20260128-020000) (3 nights); good in 27 of 27 nights before, and broken since",
			"1 scenario without evidence, 0 regressions"}, 1, false},
		"no verdict, broken, good, and no verdict": {series(30, func(number int) (string, func(*night, *scenario)) {
			outcomes := map[int]verdict.Outcome{24: verdict.Unknown, 25: verdict.Violated, 28: verdict.Unknown}
			return "shop/web", func(_ *night, s *scenario) {
				if o, has := outcomes[number]; has {
					s.Outcome = o
				}
			}
		}), trend.None, nil, 1, false},
		"a newer Kubernetes, with which nothing is good": {series(30, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(22, func(n *night, s *scenario) { newer(n, s); broken(n, s) })(number)
		}), trend.Broken, []string{"app/rollout: Violated, and never good since 2026-01-23 02:00 (20260123-020000) (8 nights)"}, 2, false},
		"a newer Kubernetes, with which nothing has a verdict": {series(30, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(22, func(n *night, s *scenario) { newer(n, s); s.Outcome = verdict.Unknown })(number)
		}), trend.Missing, []string{"Unknown, and never good since", "1 scenario without evidence"}, 2, false},
		"a newer Kubernetes, with which it is good in its first night": {series(30, func(number int) (string, func(*night, *scenario)) {
			if number >= 29 {
				return "shop/web", newer
			}
			return "shop/web", since(28, broken)(number)
		}), trend.None, nil, 2, false},
		"a newer Kubernetes, with which one is broken in its first night": {both(30, since(29, func(n *night, s *scenario) { newer(n, s); broken(n, s) })),
			trend.Broken, []string{"app/rollout: Violated, and never good since"}, 2, false},
		"a newer Kubernetes, tried once before it was broken": {series(30, func(number int) (string, func(*night, *scenario)) {
			if number == 20 {
				return "shop/web", newer
			}
			return "shop/web", since(29, broken)(number)
		}), trend.Broken, []string{"app/rollout: Violated, not good since 2026-01-30"}, 2, false},
		"two environments in turn, of which a broken one is gone": {series(34, inTurn(func(number int) bool { return number < 24 && number%2 == 0 }, since(4, broken))),
			trend.Missing, []string{"app/rollout: not judged since", "and at last Violated"}, 2, false},
		"two environments in turn, of which a good one is gone": {series(34, inTurn(func(number int) bool { return number < 24 && number%2 == 0 }, since(34, broken))),
			trend.Missing, []string{"app/rollout: not judged since", "1 scenario gone"}, 2, false},
		"two environments in turn, of which one is gone for more nights than are looked at": {series(53, inTurn(func(number int) bool { return number < 24 && number%2 == 0 }, since(4, broken))),
			trend.Missing, []string{"app/rollout: not judged since"}, 2, false},
		"two environments in turn": {series(34, inTurn(func(number int) bool { return number%2 == 0 }, since(34, broken))), trend.None, nil, 2, false},
		"good once, and no verdict since": {series(30, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(1, unknown)(number)
		}), trend.Missing, []string{"app/rollout: Unknown, not good since 2026-01-02", "1 scenario without evidence"}, 1, false},
		"good in eight nights, and no verdict in three": {series(11, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(8, unknown)(number)
		}), trend.Missing, []string{"1 scenario without evidence"}, 1, false},
		"good twice, and no verdict in four nights": {series(6, func(number int) (string, func(*night, *scenario)) {
			return "shop/web", since(2, unknown)(number)
		}), trend.Missing, []string{"1 scenario without evidence"}, 1, false},
		"a newer Kubernetes, with which it is good again": {series(30, func(number int) (string, func(*night, *scenario)) {
			if number >= 25 {
				return "shop/web", newer
			}
			return "shop/web", since(24, broken)(number)
		}), trend.None, nil, 2, false},
		"a newer Kubernetes, with which one is not run": {both(30, since(25, func(n *night, s *scenario) { newer(n, s); nothing(n, s) })),
			trend.Missing, []string{"app/rollout: not judged since 2026-01-26"}, 2, false},
		"one is gone": {both(30, since(18, nothing)), trend.Missing, []string{"app/rollout: not judged since 2026-01-19 02:00 (20260119-020000) (12 nights); " +
			"good in 18 of 18 nights before, and at last Held", "1 scenario gone, 0 regressions"}, 1, false},
		"one is not supported any more": {unsupported, trend.Missing, []string{"app/rollout: not judged since 2026-01-28"}, 1, false},
		"one was left out once":         {both(30, since(29, nothing)), trend.None, nil, 1, false},
		"one is run every third night": {both(30, func(number int) func(*night, *scenario) {
			return []func(*night, *scenario){good, nothing, nothing}[number%3]
		}), trend.None, nil, 1, false},
		"one was tried twice":           {both(30, func(number int) func(*night, *scenario) { return since(2, nothing)(number) }), trend.None, nil, 1, false},
		"the last night was killed":     {killed, trend.Missing, []string{"the last night is not whole, 0 regressions"}, 1, false},
		"a night before was killed":     {killedBefore, trend.None, nil, 1, false},
		"the last night cannot be read": {alone, trend.Missing, []string{"the last night is not whole"}, 1, false},
		"all is as it was":              {both(30, since(30, nothing)), trend.None, nil, 1, false},
	} {
		t.Run(name, func(t *testing.T) {
			got := trend.Of(test.all, trend.DefaultLast)
			var said []string
			for _, f := range notGood(got) {
				said = append(said, f.Text)
			}
			text := strings.Join(append(said, got.Summary), "\n")
			for _, want := range test.says {
				if !strings.Contains(text, want) {
					t.Errorf("no %q", want)
				}
			}
			if got.Result != test.want || len(got.Lines) != test.lines || (len(moved(got)) > 0) != test.change || len(test.says) == 0 && len(said) > 0 {
				t.Errorf("%s with %d lines and changes %v, want %s with %d\n%s", got.Result, len(got.Lines), moved(got), test.want, test.lines, text)
			}
		})
	}
}

// TestAnApplicationThatIsNotCertifiedAnyMore is no success, also if the upgrade itself is one.
func TestAnApplicationThatIsNotCertifiedAnyMore(t *testing.T) {
	for later, want := range map[certificate.Result]trend.Result{
		certificate.Certified: trend.None, certificate.NotCertified: trend.Broken, certificate.NoEvidence: trend.Missing, certificate.Interrupted: trend.Missing,
	} {
		root := t.TempDir()
		for number := range 30 {
			app := certificate.Application{Name: "shop", Result: certificate.Certified}
			if number >= 15 {
				app.Result = later
			}
			storeCertificate(t, root, number, certificate.Certified, 0, app)
		}
		all, err := trend.Read(root)
		if err != nil {
			t.Fatal(err)
		}
		if got := trend.Of(all, trend.DefaultLast); got.Result != want && (want == trend.None || got.Result != trend.Regression) {
			t.Errorf("%s: %s, want %s: %+v", later, got.Result, want, got.Findings)
		}
	}
}
