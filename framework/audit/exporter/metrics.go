package exporter

import (
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

func perWorkload(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("holdfast_workload_"+name, help, append([]string{"namespace", "kind", "workload"}, labels...), nil)
}

func overall(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("holdfast_audit_"+name, help, labels, nil)
}

// The metrics. Their labels have few values: rules, topologies, and workloads up to mostSeries.
var (
	descFinding = perWorkload("finding", "Findings of a rule on a workload.", "rule", "severity")
	descSkew    = perWorkload("skew", "Pods in the fullest domain of a topology, less those in the emptiest one that takes pods.", "topology_key", "constraint")
	descLimit   = perWorkload("skew_limit", "Skew that a workload's own constraint allows.", "topology_key", "constraint")
	descPending = perWorkload("constrained_pending_pods", "Pods that a hard constraint keeps Pending.")
	descSince   = perWorkload("constrained_pending_since_timestamp_seconds", "When the first of these pods was found to be unschedulable, in seconds since 1970.")

	descFindings   = overall("findings", "Findings of a rule, on all workloads.", "rule", "severity")
	descWorkloads  = overall("workloads", "Workloads that were audited.")
	descNotChecked = overall("not_checked", "Places (all namespaces, a namespace or a workload) in which a rule could not be applied: unread, or undecided on what was read.", "rule", "reason")
	descOmitted    = overall("omitted_series", "Series of workloads that are left out, because there are too many.")
	descSuccess    = overall("last_success_timestamp_seconds", "When the last reading of the cluster that succeeded began, in seconds since 1970.")
	descDuration   = overall("last_success_duration_seconds", "How long that reading and its audit took.")
	descReadings   = overall("rounds_total", "Readings of the cluster, by their result.", "result")
	descBuild      = overall("build_info", "Always 1; the label has holdfast's version.", "version")
)

// Describe implements prometheus.Collector. It describes nothing, so the registry checks each scrape instead.
func (e *Exporter) Describe(chan<- *prometheus.Desc) {}

// Collect implements prometheus.Collector. A series ends with what it describes, because none is kept between two scrapes.
func (e *Exporter) Collect(out chan<- prometheus.Metric) {
	r := e.now.Load()
	send := func(d *prometheus.Desc, value float64, labels ...string) {
		out <- prometheus.MustNewConstMetric(d, prometheus.GaugeValue, value, labels...)
	}
	send(descBuild, 1, e.o.Version)
	out <- prometheus.MustNewConstMetric(descReadings, prometheus.CounterValue, float64(r.successes), "success")
	out <- prometheus.MustNewConstMetric(descReadings, prometheus.CounterValue, float64(r.failures), "failure")
	if r.taken.IsZero() {
		return // a metric that is 0 would mean that nothing is wrong
	}
	send(descSuccess, seconds(r.taken))
	send(descDuration, r.took.Seconds())
	send(descWorkloads, float64(r.workloads))
	r.sendTotals(send)
	sent := 0
	r.sendWorkloads(func(d *prometheus.Desc, value float64, labels ...string) {
		if sent++; sent <= e.series {
			send(d, value, labels...)
		}
	})
	send(descOmitted, float64(max(sent-e.series, 0)))
}

type sender func(d *prometheus.Desc, value float64, labels ...string)

// sendTotals sends the totals of each rule, which have no labels of workloads.
func (r *reading) sendTotals(send sender) {
	type key struct{ rule, by string }
	findings, notChecked := map[key]int{}, map[key]int{}
	for _, f := range r.findings {
		findings[key{f.Rule, string(f.Severity)}]++
	}
	for _, n := range r.notChecked {
		reason := "unread"
		if n.Name != "" {
			reason = "undecided"
		}
		for _, rule := range n.Rules {
			notChecked[key{rule, reason}]++
		}
	}
	for k, n := range findings {
		send(descFindings, float64(n), k.rule, k.by)
	}
	for k, n := range notChecked {
		send(descNotChecked, float64(n), k.rule, k.by)
	}
}

// sendWorkloads sends the series with labels of workloads. Those that alerts use come first, because a limit leaves out the last.
func (r *reading) sendWorkloads(send sender) {
	findings := map[[5]string]int{} // a rule may find several places in a workload
	for _, f := range r.findings {
		findings[seriesOf(f)]++
	}
	for _, f := range r.findings {
		if labels := seriesOf(f); findings[labels] > 0 {
			send(descFinding, float64(findings[labels]), labels[:]...)
			delete(findings, labels)
		}
	}
	for _, p := range r.pending {
		send(descSince, seconds(p.Since), p.Namespace, p.Kind, p.Name)
		send(descPending, float64(p.Pods), p.Namespace, p.Kind, p.Name)
	}
	for _, k := range r.skews {
		send(descSkew, float64(k.Skew), k.Namespace, k.Kind, k.Name, k.TopologyKey, string(k.Constraint))
		if k.Constraint != audit.Unconstrained {
			send(descLimit, float64(k.Allowed), k.Namespace, k.Kind, k.Name, k.TopologyKey, string(k.Constraint))
		}
	}
}

func seriesOf(f audit.Finding) [5]string {
	return [5]string{f.Namespace, f.Kind, f.Name, f.Rule, string(f.Severity)}
}

func seconds(t time.Time) float64 { return float64(t.UnixMilli()) / 1000 }
