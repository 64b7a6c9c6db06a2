package scaling

import (
	"math"
	"strings"
	"testing"
)

func TestSlope(t *testing.T) {
	inf, nan := math.Inf(1), math.NaN()
	for name, test := range map[string]struct {
		sizes, costs []float64
		want         float64
	}{
		"in proportion":      {[]float64{10, 100, 1000}, []float64{3, 30, 300}, 1},
		"with the square":    {[]float64{1, 10}, []float64{1, 100}, 2},
		"constant":           {[]float64{1, 10, 50}, []float64{7, 7, 7}, 0},
		"one was not seen":   {[]float64{1, 10, 100}, []float64{1, 0, 100}, 1},
		"nothing":            {nil, nil, nan},
		"one size":           {[]float64{5, 5}, []float64{1, 2}, nan},
		"one measurement":    {[]float64{5}, []float64{1}, nan},
		"not a number":       {[]float64{1, 10, 100}, []float64{1, nan, 100}, 1},
		"infinite":           {[]float64{1, inf, 100}, []float64{1, 5, 100}, 1},
		"negative":           {[]float64{1, 10, 100}, []float64{1, -5, 100}, 1},
		"of several at once": {[]float64{1, 1, 10, 10}, []float64{1, 1, 10, 10}, 1},
	} {
		if got := (Course{Sizes: test.sizes, Values: test.costs}).Slope(); math.Abs(got-test.want) > 1e-9 || math.IsNaN(got) != math.IsNaN(test.want) {
			t.Errorf("%s: %v, want %v", name, got, test.want)
		}
	}
}

const metrics = `# TYPE process_cpu_seconds_total counter
process_cpu_seconds_total 9
# TYPE scheduler_pod_scheduling_sli_duration_seconds histogram
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="1",le="+Inf"} 4
scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="1"} 2
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="1"} 4
scheduler_pod_scheduling_sli_duration_seconds_bucket{attempts="2",le="+Inf"} 1
scheduler_pod_scheduling_sli_duration_seconds_sum{attempts="2"} 3
scheduler_pod_scheduling_sli_duration_seconds_count{attempts="2"} 1
# TYPE scheduler_scheduling_algorithm_duration_seconds histogram
scheduler_scheduling_algorithm_duration_seconds_bucket{le="+Inf"} 7
scheduler_scheduling_algorithm_duration_seconds_sum 0.7
scheduler_scheduling_algorithm_duration_seconds_count 7
# TYPE scheduler_scheduling_attempt_duration_seconds histogram
scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="scheduled",le="+Inf"} 5
scheduler_scheduling_attempt_duration_seconds_sum{profile="default-scheduler",result="scheduled"} 1
scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="scheduled"} 5
scheduler_scheduling_attempt_duration_seconds_bucket{profile="default-scheduler",result="unschedulable",le="+Inf"} 2
scheduler_scheduling_attempt_duration_seconds_sum{profile="default-scheduler",result="unschedulable"} 100
scheduler_scheduling_attempt_duration_seconds_count{profile="default-scheduler",result="unschedulable"} 2
`

func TestScheduler(t *testing.T) {
	got, err := parseScheduler(metrics)
	want := Scheduler{Algorithm: Histogram{0.7, 7}, Attempt: Histogram{1, 5}, SLI: Histogram{5, 5}, CPU: 9}
	if err != nil || got != want {
		t.Errorf("got %+v, %v, want %+v", got, err, want)
	}
	if since := got.Less(Scheduler{SLI: Histogram{2, 4}, Attempt: Histogram{0, 1}, CPU: 1}); since.SLI != (Histogram{3, 1}) || since.SLI.Mean() != 3 || since.CPUPerPod() != 2 {
		t.Errorf("since then %+v", since.SLI)
	}
	if mean := (Histogram{}).Mean(); mean != 0 {
		t.Errorf("the mean of nothing is %v", mean)
	}
}

func TestOtherMetrics(t *testing.T) {
	for text, want := range map[string]string{
		"":       "there is no scheduler_",
		"x{ 1\n": "read the scheduler's metrics: ",
		before(metrics, "# TYPE scheduler_scheduling_attempt"): "there is no scheduler_scheduling_attempt_duration_seconds",
	} {
		if _, err := parseScheduler(text); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.40q: %v, want %q", text, err, want)
		}
	}
}

// A slope is that of one size: rows in which both nodes and pods differ are in no slope together.
func TestClusterTable(t *testing.T) {
	text := ClusterTable([]Measurement{
		{Nodes: 500, Pods: 10_000, Outcome: "held", RunBytes: 1000 << 20, Events: 50_000, Gaps: 1},
		{Nodes: 50, Pods: 1000, RunBytes: 100 << 20, Events: 5000},
		{Nodes: 500, Pods: 1000, RunBytes: 100 << 20, Events: 10_000},
		{Nodes: 50, Pods: 1000, RunBytes: 100 << 20, Events: 5000},
	})
	lines := strings.Split(strings.TrimSpace(text), "\n")
	for i, want := range []string{
		2: "| 50 | 1,000 | none | 0 | 100 | – | 5,000 |", 4: "| 500 | 1,000 | none | 0 | 100 | – | 10,000 |", 5: "| 500 | 10,000 | held | 1 | 1,000 | – | 50,000 |",
		6: "| slope over nodes with 1,000 pods |  |  |  | 0.00 | – | 0.30 |", 7: "| slope over pods with 500 nodes |  |  |  | 1.00 | – | 0.70 |",
	} {
		if !strings.HasPrefix(lines[i], want) {
			t.Errorf("line %d is %q, want %q first", i, lines[i], want)
		}
	}
	if len(lines) != 8 {
		t.Errorf("%d lines, want 8", len(lines))
	}
}

// before is a text up to a mark.
func before(text, mark string) string {
	text, _, _ = strings.Cut(text, mark)
	return text
}
