package judge

import (
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/timeline"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Unsupported is why the environment cannot run a scenario, for example a missing kernel feature; empty: the scenario was run, and
// its verdicts count. Verdicts are those of Judge on the record. A fault that was not applied explains no failure, so a promise
// that was violated stays violated.
//
// Evidence: a whole record in which the kernel's own words refused a fault, and nothing else went wrong: no promise was violated,
// no request failed, and the harness had no other trouble.
func Unsupported(run history.Run, verdicts []verdict.Verdict) string {
	why := notSupported(run)
	if why == "" || run.Incomplete != "" || Overall(verdicts) == verdict.Violated {
		return ""
	}
	refused := make(map[int]bool) // faults, by their numbers
	for _, e := range run.Events {
		switch {
		case e.Fault != nil && e.Fault.NotSupported != "":
			if !history.KernelRefused(e.Fault.NotSupported) || e.Fault.Error == "" {
				return ""
			}
			refused[e.Fault.ID] = true
		case e.Fault != nil && e.Fault.Error != "", e.Trouble != nil && !strings.Contains(e.Trouble.What, why):
			return ""
		}
	}
	for _, fault := range timeline.Faults(run) {
		if refused[fault.ID] && fault.Seen.OK {
			return ""
		}
	}
	if anyFailed(run) {
		return ""
	}
	return why
}

// anyFailed says whether a request that was due under load failed, or whether the requests cannot be read.
func anyFailed(run history.Run) bool {
	if run.Requests == nil {
		return false
	}
	from, to := run.UnderLoad()
	for r, err := range run.Requests() {
		if err != nil || r.Outcome.Failed() && r.Due >= from && r.Due < to {
			return true
		}
	}
	return false
}

// notSupported is what the harness recorded of a fault that the environment cannot run; empty: nothing. It proves nothing by itself.
func notSupported(run history.Run) string {
	for _, e := range run.Events {
		if e.Fault != nil && e.Fault.NotSupported != "" {
			return e.Fault.NotSupported
		}
	}
	return ""
}
