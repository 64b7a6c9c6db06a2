package scaling

import (
	"context"
	"fmt"
	"slices"
	"strings"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"

	"github.com/holdfast-ha/holdfast/clusters"
)

// Histogram is the sum and the count of a histogram's observations, in seconds.
type Histogram struct{ Sum, Count float64 }

// Mean is the mean of the observations; 0 of none.
func (h Histogram) Mean() float64 {
	if h.Count == 0 {
		return 0
	}
	return h.Sum / h.Count
}

// Less is what was observed since an earlier look.
func (h Histogram) Less(before Histogram) Histogram {
	return Histogram{h.Sum - before.Sum, h.Count - before.Count}
}

// Scheduler is what kube-scheduler says of the pods that it has bound.
//
// Source: https://kubernetes.io/docs/reference/instrumentation/metrics/
type Scheduler struct {
	// Algorithm is the time in which a node was found, Attempt that of a whole successful attempt, and SLI the time from when a pod entered
	// the queue until it was bound, in all its attempts.
	Algorithm, Attempt, SLI Histogram
	// CPU is the processor time of its process, in seconds. Unlike the histograms it does not grow when other programs take the processors.
	CPU float64
}

// CPUPerPod is the processor time for each pod that was bound; 0 if none was.
func (s Scheduler) CPUPerPod() float64 {
	if s.Attempt.Count == 0 {
		return 0
	}
	return s.CPU / s.Attempt.Count
}

// Less is what was observed since an earlier look.
func (s Scheduler) Less(before Scheduler) Scheduler {
	return Scheduler{s.Algorithm.Less(before.Algorithm), s.Attempt.Less(before.Attempt), s.SLI.Less(before.SLI), s.CPU - before.CPU}
}

// askScheduler asks the scheduler on its own node, with the administrator's credentials of that node.
const askScheduler = `set -e
umask 077
dir=$(mktemp -d)
trap 'rm -r "$dir"' EXIT
for kind in certificate key; do
  awk -v name="client-$kind-data:" '$1 == name {print $2}' /etc/kubernetes/admin.conf | base64 -d > "$dir/$kind"
done
curl --insecure --silent --show-error --fail --max-time 20 --cert "$dir/certificate" --key "$dir/key" https://127.0.0.1:10259/metrics`

// AskScheduler reads the metrics of the scheduler on a control plane node.
func AskScheduler(ctx context.Context, on clusters.Node) (Scheduler, error) {
	text, err := on.Exec(ctx, "bash", "-c", askScheduler)
	if err != nil {
		return Scheduler{}, fmt.Errorf("ask the scheduler on %s for its metrics: %w", on.Name(), err)
	}
	return parseScheduler(string(text))
}

// The metrics that Scheduler has.
const (
	cpuMetric       = "process_cpu_seconds_total"
	algorithmMetric = "scheduler_scheduling_algorithm_duration_seconds"
	attemptMetric   = "scheduler_scheduling_attempt_duration_seconds"
	sliMetric       = "scheduler_pod_scheduling_sli_duration_seconds"
)

// parseScheduler reads the text format of Prometheus.
func parseScheduler(text string) (Scheduler, error) {
	parser := expfmt.NewTextParser(model.UTF8Validation)
	families, err := parser.TextToMetricFamilies(strings.NewReader(text))
	if err != nil {
		return Scheduler{}, fmt.Errorf("read the scheduler's metrics: %w", err)
	}
	var s Scheduler
	for name, into := range map[string]*Histogram{algorithmMetric: &s.Algorithm, attemptMetric: &s.Attempt, sliMetric: &s.SLI} {
		family, there := families[name]
		if !there {
			return Scheduler{}, fmt.Errorf("read the scheduler's metrics: there is no %s, because no pod was bound yet or it has another name", name)
		}
		for _, m := range family.GetMetric() {
			if name != attemptMetric || labelled(m.GetLabel(), "result", "scheduled") {
				into.Sum += m.GetHistogram().GetSampleSum()
				into.Count += float64(m.GetHistogram().GetSampleCount())
			}
		}
	}
	cpu, there := families[cpuMetric]
	if !there || len(cpu.GetMetric()) != 1 {
		return Scheduler{}, fmt.Errorf("read the scheduler's metrics: there is no %s", cpuMetric)
	}
	s.CPU = cpu.GetMetric()[0].GetCounter().GetValue()
	return s, nil
}

// labelled reports whether a metric has a label with a value.
func labelled(labels []*dto.LabelPair, name, value string) bool {
	return slices.ContainsFunc(labels, func(l *dto.LabelPair) bool { return l.GetName() == name && l.GetValue() == value })
}
