package patrol

import (
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// state is what the patrol knows between two rounds. It is not changed once it is published.
type state struct {
	taken      time.Time // when the last reading that succeeded began; zero: none has succeeded
	took       time.Duration
	workloads  int
	findings   []finding
	pending    []audit.Pending
	skews      []audit.Skew
	notChecked []audit.NotChecked
	uids       map[string]types.UID // of the workloads, by audit.Finding.Object

	tried               time.Time // when the last reading ended, however it ended
	failure             string    // why it failed; empty: it succeeded
	successes, failures uint64
}

// finding is a finding with the time of the reading that saw it last. A reading that cannot check its rule leaves it as it was.
type finding struct {
	audit.Finding
	seen time.Time
}

// next is the state after a reading that succeeded.
func (s *state) next(c audit.Cluster, report audit.Report, ended time.Time) *state {
	next := &state{
		taken: c.Taken, took: ended.Sub(c.Taken), tried: ended, workloads: report.Workloads, notChecked: report.NotChecked,
		pending: audit.PendingOnConstraints(c), skews: audit.Skews(c), uids: make(map[string]types.UID, len(c.Workloads)),
		successes: s.successes + 1, failures: s.failures,
	}
	for _, w := range c.Workloads {
		next.uids[w.Namespace+"/"+w.Kind+"/"+w.Name] = w.UID
	}
	for _, f := range report.Findings {
		next.findings = append(next.findings, finding{f, c.Taken})
	}
	if len(report.NotChecked) > 0 {
		next.keepFindings(s.findings, &c, report)
		next.keepPending(s.pending, &c, report)
	}
	return next
}

// failed is the state after a reading that failed: everything is as it was last seen.
func (s *state) failed(err error, ended time.Time) *state {
	next := *s
	next.failure, next.tried = err.Error(), ended
	next.failures++
	return &next
}

// keepFindings takes over the earlier findings that the reading could neither confirm nor deny.
func (s *state) keepFindings(earlier []finding, c *audit.Cluster, report audit.Report) {
	found := map[string]bool{}
	for _, f := range s.findings {
		found[f.Rule+" "+f.Object()] = true
	}
	for _, f := range earlier {
		if !found[f.Rule+" "+f.Object()] && report.Unsettled(c, f.Rule, f.Namespace, f.Kind, f.Name) {
			s.findings = append(s.findings, f)
		}
	}
	slices.SortStableFunc(s.findings, func(a, b finding) int { return a.Compare(b.Finding) })
}

// keepPending does the same for pods that were Pending.
func (s *state) keepPending(earlier []audit.Pending, c *audit.Cluster, report audit.Report) {
	found := map[string]bool{}
	for _, p := range s.pending {
		found[p.Object()] = true
	}
	for _, p := range earlier {
		if !found[p.Object()] && report.Unsettled(c, audit.PendingRule, p.Namespace, p.Kind, p.Name) {
			s.pending = append(s.pending, p)
		}
	}
}
