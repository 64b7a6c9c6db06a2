package certify

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/run"
)

// TestABrokenPromiseCountsWithoutACertificate: also if its run kept no record.
func TestABrokenPromiseCountsWithoutACertificate(t *testing.T) {
	base := filepath.Join(t.TempDir(), "file") // no folder can be created below a file
	must(t, os.WriteFile(base, nil, 0o600))
	ended := ""
	c := &Certification{
		Plan: Plan{Profiles: profiles()}, Settings: run.Settings{Dir: base},
		Ended: func(part string, _ runfolder.File) error { ended += part; return nil },
	}
	goOn := c.next(t.Context(), beforeRun, runfolder.File{Scenarios: []runfolder.ScenarioResult{{Name: "chaos/a", Outcome: "violated"}}})
	if _, err := c.issue(); err == nil || !c.broken || !goOn || ended != beforeRun || c.errs[0] == nil {
		t.Errorf("error %v, broken %t, go on %t, ended %q, errors %v", err, c.broken, goOn, ended, c.errs)
	}
}

func TestScenariosOfProfilesAreEachThereOnce(t *testing.T) {
	twice := append(profiles(), profiles()...)
	if got := scenariosOf(twice); len(got) != len(all) {
		t.Errorf("%d scenarios, want %d", len(got), len(all))
	}
}
