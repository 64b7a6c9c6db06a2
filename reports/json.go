package reports

import (
	"encoding/json"
	"io"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/stats"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// WriteJSON writes report.json, see Report.
func WriteJSON(w io.Writer, m Model) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false) // promises have < and > in them; this is not a web page
	return out.Encode(NewReport(m))
}

// NewReport is the model in the shape of report.json.
func NewReport(m Model) Report {
	r := Report{
		SchemaVersion: SchemaVersion, RunID: m.RunID, Result: m.Result(), TookSeconds: m.Took.Seconds(),
		Holdfast: m.Holdfast, Seed: m.Seed, Profile: m.Profile, Cluster: reportCluster(m.Cluster),
		Counts: ReportCounts{
			Held: m.Count(Held), Violated: m.Count(Violated), Unknown: m.Count(Unknown),
			Caught: m.Count(Caught), Missed: m.Count(Missed), Escaped: m.Count(Escaped), Unsupported: m.Count(Unsupported),
			Interrupted: m.Count(Interrupted), NotBegun: m.Count(NotBegun),
		},
		Interrupted: m.Interrupted, Reproduce: m.Reproduce, Trouble: some(m.Trouble), Scenarios: []ReportScenario{},
	}
	if !m.Started.IsZero() {
		r.Started = &m.Started
	}
	if i := m.Incident; i != nil {
		r.Incident = &ReportIncident{Name: i.Name, Story: i.Story, Symptom: i.Symptom, Cause: i.Cause, Fix: i.Fix}
	}
	for i := range m.Scenarios {
		r.Scenarios = append(r.Scenarios, reportScenario(&m.Scenarios[i]))
	}
	r.Confusion = reportConfusion(m.confusion())
	return r
}

func reportConfusion(c *judge.Confusion) *ReportConfusion {
	if c == nil {
		return nil
	}
	r := &ReportConfusion{Pairs: []ReportConfusionPair{}}
	r.Agree, r.Of = c.Agree()
	for _, planted := range c.Planted {
		for _, reported := range c.Reported {
			if n := c.Count(planted, reported); n > 0 {
				r.Pairs = append(r.Pairs, ReportConfusionPair{Planted: string(planted), Reported: string(reported), Mutants: n})
			}
		}
	}
	return r
}

func reportScenario(s *Scenario) ReportScenario {
	r := ReportScenario{
		Name: s.Name, Claim: s.Claim, Result: s.Result, Why: s.Why, Incomplete: s.Incomplete, Trouble: some(s.Trouble),
		TookSeconds: s.Took.Seconds(), Cluster: reportCluster(s.Cluster), Seed: s.Seed, Reproduce: s.Reproduce,
		Requests:    ReportRequests{Sent: s.Sent(), Failed: s.Failed(), Unsent: s.Unsent()},
		Disruptions: ReportDisruptions{PodTerminations: s.Disruptions.PodTerminations, NodeLosses: s.Disruptions.NodeLosses},
		Verdicts:    []ReportVerdict{}, Phases: []ReportPhase{}, Faults: []ReportFault{}, Lanes: []ReportLane{},
		Noise:  []ReportNoise{},
		Causes: []ReportCause{},
	}
	if s.Mutant != nil {
		r.Mutant = reportMutant(s)
	}
	for _, p := range s.Noise.Parts {
		r.Noise = append(r.Noise, ReportNoise{
			Of: p.Of, PauseSeconds: p.Pause.Seconds(), ThrottledSeconds: p.Throttled.Seconds(), Steal: p.Steal, WaitCPU: p.WaitCPU,
		})
	}
	if s.Noise.Watches.Max > 0 {
		r.WatchesLate = new(reportQuantiles(s.Noise.Watches))
	}
	if a := s.APIAway; a.String() != "" {
		r.APIAway = &ReportAPIAway{Balancer: reportAwayBy(a.Balancer), Own: reportAwayBy(a.Own)}
	}
	r.Requests.UpperBound95, r.Disruptions.UpperBound95 = s.bounds95()
	for i := range s.Verdicts {
		r.Verdicts = append(r.Verdicts, reportVerdict(&s.Verdicts[i]))
	}
	for _, p := range s.Phases {
		r.Phases = append(r.Phases, ReportPhase{
			Name: string(p.Name), FromSeconds: p.From.Seconds(), ToSeconds: p.To.Seconds(),
		})
	}
	for i := range s.Faults {
		r.Faults = append(r.Faults, reportFault(&s.Faults[i], s.metBy(i)))
	}
	for i := range s.Lanes {
		r.Lanes = append(r.Lanes, reportLane(&s.Lanes[i]))
	}
	for _, c := range s.Causes {
		r.Causes = append(r.Causes, ReportCause{Cause: string(c.Cause), Words: c.Cause.Words(), Failed: c.Failed, Known: c.Known})
	}
	return r
}

// bounds95 are nil where they would say nothing. That over requests is of the lane with the fewest: lanes are judged
// apart.
func (s *Scenario) bounds95() (requests, disruptions *float64) {
	events, worst := s.Disruptions.Total(), 0.0
	for i := range s.Lanes {
		if l := &s.Lanes[i]; l.Name != history.LaneControl && l.Sent() > 0 {
			worst = max(worst, stats.UpperBound95(l.Sent()))
		}
	}
	if worst == 0 || s.Failed() > 0 {
		return nil, nil
	}
	requests = new(worst)
	if events > 0 {
		disruptions = new(stats.UpperBound95(uint64(events)))
	}
	return requests, disruptions
}

func reportMutant(s *Scenario) *ReportMutant {
	m := s.Mutant
	r := &ReportMutant{
		Removed: m.Removed, CaughtBy: m.CaughtBy, Twin: m.Twin, Cause: m.Cause, Doubt: m.Doubt, Trap: m.Trap, ByChance: m.ByChance,
		TwinNote: s.TwinNote,
	}
	for _, lane := range m.Lanes {
		r.Lanes = append(r.Lanes, string(lane))
	}
	if s.Caught != nil {
		r.Verdict = new(reportVerdict(s.Caught))
	}
	return r
}

func reportVerdict(v *verdict.Verdict) ReportVerdict {
	r := ReportVerdict{
		Promise: v.Promise, Kind: v.Kind, Outcome: string(v.Outcome), AtSeconds: v.At.Seconds(), Seen: v.Seen,
		Evidence: some(v.Evidence), Numbers: v.Numbers,
	}
	if r.Numbers == nil {
		r.Numbers = map[string]float64{}
	}
	return r
}

func reportFault(f *history.FaultLife, met Met) ReportFault {
	m := momentsOf(f)
	return ReportFault{
		Name: f.Name, InjectingSeconds: maybe(m.injecting), SeenSeconds: maybe(m.seen), HealingSeconds: maybe(m.healing),
		HealedSeconds: maybe(m.healed), Nodes: some(f.Nodes), Pods: some(f.Pods), Witness: some(f.Witness),
		Errors: some(f.Errors), LastingSeconds: maybe(m.lasting), RequestsInFlight: met.Requests,
		PodTerminations: met.PodTerminations, PodRestarts: met.PodRestarts, NodeLosses: met.NodeLosses,
	}
}

func reportLane(l *Lane) ReportLane {
	r := ReportLane{
		Name: string(l.Name), Target: l.Target, RatePerSecond: l.RatePerSecond, OK: l.OK, Failed: l.Failed,
		Unsent: l.Unsent, Outcomes: map[string]uint64{}, LatestSendSeconds: l.LatestSend.Seconds(),
		Lag: reportQuantiles(l.Lag), Latency: reportQuantiles(l.Latency), Service: reportQuantiles(l.Service),
		GatewayTries: l.GatewayTries, MaskedByGateway: l.MaskedByGateway,
	}
	if l.Failed == 0 && l.OK > 0 {
		r.UpperBound95 = new(stats.UpperBound95(l.OK))
	}
	for outcome, n := range l.Outcomes {
		r.Outcomes[string(outcome)] = n
	}
	if l.Failed > 0 {
		r.FirstFailureSeconds, r.LastFailureSeconds = maybe(&l.FirstFailure), maybe(&l.LastFailure)
	}
	return r
}

func reportQuantiles(q Quantiles) ReportQuantiles {
	return ReportQuantiles{
		P50Seconds: q.P50.Seconds(), P90Seconds: q.P90.Seconds(), P99Seconds: q.P99.Seconds(),
		P999Seconds: q.P999.Seconds(), MaxSeconds: q.Max.Seconds(),
	}
}

func reportCluster(c history.ClusterInfo) ReportCluster {
	return ReportCluster{
		Name: c.Name, Kubernetes: c.Kubernetes, Provider: c.Provider, Engine: c.Engine, Image: c.Image,
		Profile: c.Profile, ProxyMode: c.ProxyMode,
		Timings: ReportTimings{
			NodeStatusUpdateSeconds:  c.Timings.NodeStatusUpdate.Seconds(),
			NodeLeaseSeconds:         c.Timings.NodeLease.Seconds(),
			NodeMonitorPeriodSeconds: c.Timings.NodeMonitorPeriod.Seconds(),
			NodeMonitorGraceSeconds:  c.Timings.NodeMonitorGrace.Seconds(),
			TolerationSeconds:        c.Timings.Toleration.Seconds(),
		},
	}
}

// some makes an empty list of none, which JSON would write as null.
func some(list []string) []string {
	if list == nil {
		return []string{}
	}
	return list
}

func maybe(d *time.Duration) *float64 {
	if d == nil {
		return nil
	}
	return new(d.Seconds())
}

func reportAwayBy(b AwayBy) ReportAwayBy {
	return ReportAwayBy{AwaySeconds: b.Away.Seconds(), BeforeSeconds: b.Before.Seconds(), Asked: b.Asked, Failed: b.Failed}
}
