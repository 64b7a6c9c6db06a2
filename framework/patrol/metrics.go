package patrol

import (
	"cmp"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// Labels of the metrics. Their values are few: rules, resources and topologies, and workloads up to Options.MostSeries.
const (
	labelNamespace  = "namespace"
	labelKind       = "kind"
	labelWorkload   = "workload"
	labelRule       = "rule"
	labelSeverity   = "severity"
	labelTopology   = "topology_key"
	labelConstraint = "constraint"
	labelReason     = "reason"
	labelResult     = "result"
	labelVersion    = "version"
)

// metric is one metric of the patrol.
type metric struct {
	name, help string
	labels     []string
	of         prometheus.ValueType
}

// workload is a metric with the labels of a workload, and more.
func workload(name, help string, more ...string) metric {
	return metric{"holdfast_workload_" + name, help, append([]string{labelNamespace, labelKind, labelWorkload}, more...), prometheus.GaugeValue}
}

// overall is a gauge about the audit as a whole.
func overall(name, help string, labels ...string) metric {
	return metric{"holdfast_audit_" + name, help, labels, prometheus.GaugeValue}
}

// The metrics.
var (
	metricFinding = workload("finding", "Findings of a rule on a workload.", labelRule, labelSeverity)
	metricSkew    = workload("skew",
		"Pods of a workload in the fullest domain of a topology, less those in the emptiest one that takes pods.", labelTopology, labelConstraint)
	metricLimit        = workload("skew_limit", "Skew that a workload's own constraint allows.", labelTopology, labelConstraint)
	metricPending      = workload("constrained_pending_pods", "Pods of a workload that a hard constraint keeps Pending.")
	metricPendingSince = workload("constrained_pending_since_timestamp_seconds",
		"When the first of these pods was found to be unschedulable, in seconds since 1970.")

	metricFindings   = overall("findings", "Findings of a rule, on all workloads.", labelRule, labelSeverity)
	metricWorkloads  = overall("workloads", "Workloads that were audited.")
	metricNotChecked = overall("not_checked",
		"Places (all namespaces, a namespace or a workload) in which a rule could not be applied: unread, or undecided on what was read.",
		labelRule, labelReason)
	metricOmitted  = overall("omitted_series", "Series that are left out, because there are more than --max-series of them.")
	metricSuccess  = overall("last_success_timestamp_seconds", "When the last reading of the cluster that succeeded began, in seconds since 1970.")
	metricDuration = overall("last_success_duration_seconds", "How long that reading and its audit took.")
	metricRounds   = metric{"holdfast_audit_rounds_total", "Readings of the cluster, by their result.", []string{labelResult}, prometheus.CounterValue}
	metricEvents   = metric{"holdfast_audit_events_total", "Events that were written, by their result.", []string{labelResult}, prometheus.CounterValue}
	metricBuild    = overall("build_info", "Always 1; the label has holdfast's version.", labelVersion)
)

var metrics = []metric{
	metricFinding, metricSkew, metricLimit, metricPending, metricPendingSince,
	metricFindings, metricWorkloads, metricNotChecked, metricOmitted, metricSuccess, metricDuration, metricRounds, metricEvents, metricBuild,
}

// Metrics returns the names of the patrol's metrics, with their label names.
func Metrics() map[string][]string {
	all := map[string][]string{}
	for _, m := range metrics {
		all[m.name] = slices.Clone(m.labels)
	}
	return all
}

// collector shows the state to Prometheus. A series ends with what it stands for, because none is kept between two scrapes.
type collector struct {
	p     *Patrol
	descs map[string]*prometheus.Desc
}

func newCollector(p *Patrol) *collector {
	c := &collector{p: p, descs: map[string]*prometheus.Desc{}}
	for _, m := range metrics {
		c.descs[m.name] = prometheus.NewDesc(m.name, m.help, m.labels, nil)
	}
	return c
}

// Describe implements prometheus.Collector.
func (c *collector) Describe(out chan<- *prometheus.Desc) {
	for _, d := range c.descs {
		out <- d
	}
}

// Collect implements prometheus.Collector.
func (c *collector) Collect(out chan<- prometheus.Metric) {
	s := c.p.now.Load()
	send := func(m metric, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(c.descs[m.name], m.of, value, labels...)
	}
	send(metricBuild, 1, c.p.o.Version)
	send(metricRounds, float64(s.successes), "success")
	send(metricRounds, float64(s.failures), "failure")
	if w := c.p.o.Writer; w != nil {
		send(metricEvents, float64(w.written.Load()), "success")
		send(metricEvents, float64(w.refused.Load()), "failure")
	}
	if s.taken.IsZero() {
		return // nothing is known yet, and a metric that is 0 would say that nothing is wrong
	}
	send(metricSuccess, seconds(s.taken))
	send(metricDuration, s.took.Seconds())
	send(metricWorkloads, float64(s.workloads))
	s.summarize(send)
	l := limited{send: send, left: c.p.o.MostSeries}
	s.perWorkload(l.add)
	send(metricOmitted, float64(l.omitted))
}

type sender = func(m metric, value float64, labels ...string)

// limited passes on as many series as are left.
type limited struct {
	send          sender
	left, omitted int
}

func (l *limited) add(m metric, value float64, labels ...string) {
	if l.left == 0 {
		l.omitted++
		return
	}
	l.left--
	l.send(m, value, labels...)
}

// summarize sends the totals of each rule, which have no labels of workloads.
func (s *state) summarize(send sender) {
	found := map[[2]string]int{}
	for _, f := range s.findings {
		found[[2]string{f.Rule, string(f.Severity)}]++
	}
	for labels, n := range found {
		send(metricFindings, float64(n), labels[0], labels[1])
	}
	blind := map[[2]string]int{}
	for _, n := range s.notChecked {
		for _, rule := range n.Rules {
			blind[[2]string{rule, reason(n)}]++
		}
	}
	for labels, n := range blind {
		send(metricNotChecked, float64(n), labels[0], labels[1])
	}
}

// reason says why something was not checked: it could not be read, or the rule cannot decide on a workload that was.
func reason(n audit.NotChecked) string {
	if n.Name != "" {
		return "undecided"
	}
	return "unread"
}

// perWorkload sends the series with labels of workloads, what alerts depend on first: the order decides what a limit leaves out.
func (s *state) perWorkload(send sender) {
	for _, same := range chunksOf(s.findings) {
		f := same[0]
		send(metricFinding, float64(len(same)), f.Namespace, f.Kind, f.Name, f.Rule, string(f.Severity))
	}
	for _, p := range s.pending {
		send(metricPendingSince, seconds(p.Since), p.Namespace, p.Kind, p.Name)
		send(metricPending, float64(p.Pods), p.Namespace, p.Kind, p.Name)
	}
	for _, k := range s.skews {
		send(metricSkew, float64(k.Skew), k.Namespace, k.Kind, k.Name, k.TopologyKey, string(k.Constraint))
		if k.Constraint != audit.Unconstrained {
			send(metricLimit, float64(k.Allowed), k.Namespace, k.Kind, k.Name, k.TopologyKey, string(k.Constraint))
		}
	}
}

// chunksOf groups the findings of one rule and severity on one workload: a rule may find several places in it.
func chunksOf(findings []finding) (chunks [][]finding) {
	sorted := slices.Clone(findings)
	slices.SortStableFunc(sorted, func(a, b finding) int {
		return cmp.Or(a.Compare(b.Finding), strings.Compare(a.Rule, b.Rule))
	})
	for from := 0; from < len(sorted); {
		to := from + 1
		for to < len(sorted) && sorted[to].Rule == sorted[from].Rule && sorted[to].Object() == sorted[from].Object() &&
			sorted[to].Severity == sorted[from].Severity {
			to++
		}
		chunks, from = append(chunks, sorted[from:to]), to
	}
	return chunks
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
