package run

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"k8s.io/utils/dump"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// chosenOf are the chosen scenarios as run.json has them. The digest covers the whole spec with the cluster that the settings
// ask for, and not the estimate of its duration.
func chosenOf(s Settings, specs []scenario.Spec) (chosen []runfolder.Chosen) {
	for _, spec := range specs {
		spec = s.adapted(spec)
		spec.About = 0
		sum := sha256.Sum256([]byte(dump.ForHash(spec)))
		chosen = append(chosen, runfolder.Chosen{Name: spec.Name, Digest: hex.EncodeToString(sum[:16])})
	}
	return chosen
}

// check returns why a scenario must be run again, or the Kubernetes version of its record if its result can be kept. A result is
// kept only if its record is whole, belongs to this run, is judged now as it was judged then, and does not have to run again.
func (r *runner) check(found runfolder.ScenarioResult) (kubernetes, why string) {
	switch {
	case found.NotBegun != "":
		return "", found.NotBegun
	case found.Error != "":
		return "", "the harness failed: " + found.Error
	case found.Left():
		return "", found.Interrupted
	case found.Outcome == "" && found.NotSupported == "":
		return "", "it was not judged"
	}
	recorded, err := history.Open(filepath.Join(r.settings.Dir, filepath.FromSlash(found.Name)))
	if err != nil {
		return "", err.Error()
	}
	h := recorded.Header
	switch {
	case recorded.Incomplete != "":
		return "", "its record is incomplete: " + recorded.Incomplete
	case h.Scenario != found.Name || h.RunID != r.settings.RunID || h.Seed != r.settings.Seed:
		return "", fmt.Sprintf("its record is that of %s in run %s with seed %d", h.Scenario, h.RunID, h.Seed)
	}
	verdicts := judge.Judge(recorded)
	if unsupported := judge.Unsupported(recorded, verdicts); unsupported != found.NotSupported {
		return "", "its record and run.json differ in whether it is supported"
	} else if unsupported != "" {
		return h.Cluster.Kubernetes, ""
	}
	now := judge.FoundBy(recorded, verdicts)
	switch outcome, _ := now.Sum(); {
	case string(outcome) != found.Outcome:
		return "", fmt.Sprintf("its record is judged %s now, and was judged %s", outcome, found.Outcome)
	case outcome == verdict.Unknown && now.Busy() && !slices.ContainsFunc(h.Notes, func(note string) bool { return strings.Contains(note, ranBefore) }):
		return "", unknownWhileBusy
	}
	return h.Cluster.Kubernetes, ""
}

// lockFolder makes this process the only one that writes to a run's folder.
func (r *runner) lockFolder(dir string) (err error) {
	if r.lock != nil { // of the batch before
		_ = r.lock.Close()
		r.lock = nil
	}
	r.lock, err = runfolder.Lock(dir)
	return err
}
