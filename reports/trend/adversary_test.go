package trend_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history/historytest/adversary"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/certificate"
	"github.com/holdfast-ha/holdfast/reports/formats"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

// attackedNights are nights on which nothing happened: two scenarios that held, and a mutant that was caught. Only the recovery of one differs by chance.
func attackedNights(random *rand.Rand, count int) (list []night) {
	for number := range count {
		n := usualNight(number)
		for _, name := range []string{"app/rollout", "chaos/drain", "mutants/no-prestop"} {
			s := scenario{Name: name, Outcome: verdict.Held, Of: "shop/web", Recovery: 10, P99: 0.004, Blind: 0.1}
			switch name {
			case "app/rollout":
				s.Recovery = usual(name, random).Recovery
			case "mutants/no-prestop":
				s.Mutant, s.Outcome = true, verdict.Violated
			}
			n.Scenarios = append(n.Scenarios, s)
		}
		list = append(list, n)
	}
	return list
}

// breaks has a scenario not keep its promise, or a mutant be missed.
func breaks(s *scenario) {
	s.Outcome = map[bool]verdict.Outcome{false: verdict.Violated, true: verdict.Held}[s.Mutant]
}

// lastly edits one scenario, which is the same each night, in the last nights.
func lastly(list []night, last, which int, edit func(*night, *scenario)) {
	for i := len(list) - last; i < len(list); i++ {
		edit(&list[i], &list[i].Scenarios[which])
	}
}

// leftOut takes one scenario out of the last nights.
func leftOut(list []night, last, which int) {
	for i := len(list) - last; i < len(list); i++ {
		of := list[i].Scenarios
		list[i].Scenarios = append(append([]scenario{}, of[:which]...), of[which+1:]...)
	}
}

// plantedInNights are what may befall nights. Each returns what it did.
var plantedInNights = []func(random *rand.Rand, list []night) ([]*trend.Night, string){
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		last, which := 1+random.IntN(len(list)), random.IntN(3)
		lastly(list, last, which, func(_ *night, s *scenario) { breaks(s) })
		return inMemory(list), fmt.Sprintf("scenario %d is broken in the last %d nights", which, last)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		last, which, outcome := 1+random.IntN(len(list)), random.IntN(3), []verdict.Outcome{verdict.Violated, verdict.Unknown}[random.IntN(2)]
		lastly(list, last, which, func(n *night, s *scenario) {
			n.Kubernetes = "v1.38.0"
			if breaks(s); outcome == verdict.Unknown {
				s.Outcome = outcome
			}
		})
		return inMemory(list), fmt.Sprintf("scenario %d is %s since %d nights of a newer Kubernetes", which, outcome, last)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		last, which, of := 8+random.IntN(10), random.IntN(2), 2+3*random.Float64()
		lastly(list, min(last, len(list)-8), which, func(_ *night, s *scenario) { s.Recovery *= of })
		return inMemory(list), fmt.Sprintf("scenario %d takes %.1f times as long in the last %d nights", which, of, last)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		which, since := random.IntN(3), 1+random.IntN(4)
		breaks(&list[len(list)-1-since].Scenarios[which])
		leftOut(list, since, which)
		return inMemory(list), fmt.Sprintf("scenario %d is broken, and is left out of %d nights since", which, since)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		which, since := random.IntN(3), 1+random.IntN(4)
		breaks(&list[len(list)-1-since].Scenarios[which])
		all := inMemory(list)
		result := []reports.Result{reports.Unsupported, reports.Interrupted, reports.NotBegun}[random.IntN(3)]
		for i := len(list) - since; i < len(list); i++ {
			all[i].Scenarios[which].Result = result
		}
		return all, fmt.Sprintf("scenario %d is broken, and is %s in %d nights since", which, result, since)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		which, since := random.IntN(3), 1+random.IntN(4)
		breaks(&list[len(list)-1-since].Scenarios[which])
		newer := random.IntN(2) == 0
		lastly(list, since, which, func(n *night, s *scenario) {
			if s.Outcome = verdict.Unknown; newer {
				n.Kubernetes = "v1.38.0"
			}
		})
		return inMemory(list), fmt.Sprintf("scenario %d is broken, and unknown in %d nights since (newer: %t)", which, since, newer)
	},
	func(random *rand.Rand, list []night) ([]*trend.Night, string) {
		// The nights of another application lie between.
		last, which := 1+random.IntN(len(list)/2), random.IntN(3)
		for i := range list {
			for j := range list[i].Scenarios {
				if i%2 == 0 {
					list[i].Scenarios[j].Of = "cart/web"
				}
			}
		}
		of := random.IntN(2)
		for i, left := len(list)-1, last; i >= 0 && left > 0; i-- {
			if i%2 == of {
				breaks(&list[i].Scenarios[which])
				left--
			}
		}
		return inMemory(list), fmt.Sprintf("scenario %d of one of two applications is broken in its last %d nights", which, last)
	},
}

// damagedNight damages the files of the last night. Each returns what it did.
var damagedNight = []func(t *testing.T, random *rand.Rand, dir string) string{
	func(t *testing.T, _ *rand.Rand, dir string) string {
		edited(t, dir, func(f *runfolder.File) { f.Ended = time.Time{} })
		return "it was killed"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		edited(t, dir, func(f *runfolder.File) {
			s := &f.Scenarios[random.IntN(len(f.Scenarios))]
			s.NotBegun, s.Outcome, s.Verdicts = "the run was interrupted", "", nil
			f.Interrupted = "SIGINT"
		})
		if err := os.Remove(filepath.Join(dir, formats.JSONFile)); err != nil {
			t.Fatal(err)
		}
		return "it was interrupted"
	},
	func(t *testing.T, _ *rand.Rand, dir string) string {
		if err := os.Remove(filepath.Join(dir, formats.JSONFile)); err != nil {
			t.Fatal(err)
		}
		return "its report and its records are gone"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		cut(t, random, filepath.Join(dir, formats.JSONFile))
		return "its report is cut off, and its records are gone"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		cut(t, random, filepath.Join(dir, formats.JSONFile))
		if err := os.Remove(filepath.Join(dir, runfolder.FileName)); err != nil {
			t.Fatal(err)
		}
		return "its report is cut off, and its run.json is gone"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		cut(t, random, filepath.Join(dir, runfolder.FileName))
		return "its run.json is cut off"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		name := filepath.Join(dir, runfolder.FileName)
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		text[random.IntN(len(text)-2)] ^= 1 << random.IntN(8)
		if err := os.WriteFile(name, text, 0o600); err != nil {
			t.Fatal(err)
		}
		return "a bit of its run.json has flipped"
	},
	func(t *testing.T, random *rand.Rand, dir string) string {
		edited(t, dir, func(f *runfolder.File) {
			f.Chosen = []runfolder.Chosen{{Name: "app/rollout"}, {Name: "chaos/drain"}, {Name: "mutants/no-prestop"}, {Name: "chaos/kill"}}
			if n := random.IntN(4); n < 3 { // of the scenarios that were chosen
				f.Chosen, f.Scenarios = f.Chosen[:3], append(append([]runfolder.ScenarioResult{}, f.Scenarios[:n]...), f.Scenarios[n+1:]...)
			}
		})
		return "a scenario was chosen and has no result"
	},
}

func edited(t *testing.T, dir string, edit func(*runfolder.File)) {
	t.Helper()
	f, err := runfolder.ReadFile(dir)
	if err != nil {
		t.Fatal(err)
	}
	edit(&f)
	if err := f.Write(dir); err != nil {
		t.Fatal(err)
	}
}

func cut(t *testing.T, random *rand.Rand, name string) {
	t.Helper()
	info, err := os.Stat(name)
	if err == nil {
		err = os.Truncate(name, random.Int64N(info.Size()-2))
	}
	if err != nil {
		t.Fatal(err)
	}
}

// wrong says that a trend is a success, with which the command ends with 0; empty: it is not.
func wrong(all []*trend.Night) string {
	if got := trend.Of(all, trend.DefaultLast); got.Result == trend.None {
		return fmt.Sprintf("%s: %s", got.Result, got.Summary)
	}
	return ""
}

// TestAttacksOnNights plants damage in nights, takes scenarios out of them, and removes files of the last one, at random. The trend is never a success
// then.
func TestAttacksOnNights(t *testing.T) {
	if got := wrong(inMemory(attackedNights(rand.New(rand.NewPCG(1, 1)), 24))); got == "" {
		t.Fatal("before anything is edited it is no success")
	}
	t.Run("damaged", func(t *testing.T) {
		adversary.Attack(t, adversary.Times(1_000, 30), func(random *rand.Rand, number int) (string, string) {
			all, did := plantedInNights[number%len(plantedInNights)](random, attackedNights(random, 24+random.IntN(7)))
			return did, wrong(all)
		})
	})
	t.Run("left out", func(t *testing.T) {
		adversary.Attack(t, adversary.Times(1_000, 30), func(random *rand.Rand, _ int) (string, string) {
			list := attackedNights(random, 12+random.IntN(19))        // with fewer, two nights without it are chance
			last, which := 2+random.IntN(len(list)-6), random.IntN(3) // a scenario that is left out of one night may be run now and then
			leftOut(list, last, which)
			return fmt.Sprintf("scenario %d is left out of the last %d of %d nights", which, last, len(list)), wrong(inMemory(list))
		})
	})
	t.Run("removed", func(t *testing.T) {
		root, spare := t.TempDir(), filepath.Join(t.TempDir(), "spare")
		list := attackedNights(rand.New(rand.NewPCG(2, 2)), 12)
		var last string
		for _, n := range list {
			last = n.Store(t, root)
		}
		if err := os.CopyFS(spare, os.DirFS(last)); err != nil {
			t.Fatal(err)
		}
		adversary.Attack(t, adversary.Times(1_000, 30), func(random *rand.Rand, number int) (string, string) {
			if err := os.RemoveAll(last); err != nil {
				t.Fatal(err)
			}
			if err := os.CopyFS(last, os.DirFS(spare)); err != nil {
				t.Fatal(err)
			}
			did := damagedNight[number%len(damagedNight)](t, random, last)
			all, err := trend.Read(root)
			if err != nil {
				t.Fatal(err)
			}
			return "of the last night: " + did, wrong(all)
		})
	})
	t.Run("certificates", func(t *testing.T) {
		adversary.Attack(t, adversary.Times(1_000, 20), func(random *rand.Rand, _ int) (string, string) {
			root := t.TempDir()
			result := []certificate.Result{certificate.NotCertified, certificate.NoEvidence, certificate.Interrupted}[random.IntN(3)]
			count := 8 + random.IntN(8)
			since := random.IntN(count)
			for number := range count {
				app := certificate.Application{Name: "shop", Result: certificate.Certified}
				if number >= since {
					app.Result = result
				}
				storeCertificate(t, root, number, certificate.Certified, 0, app)
			}
			all, err := trend.Read(root)
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("the application is %s since night %d of %d", result, since, count), wrong(all)
		})
	})
}
