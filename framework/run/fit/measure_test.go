package fit

import (
	"context"
	"errors"
	"math"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

func TestParse(t *testing.T) {
	const out = "used 0.600 0.150\nloops 500000\nanswered 300\nanswered 200\nrequests 2000000\n"
	m, err := parse(out)
	if err != nil || math.Abs(m.Processors-1.5) > 1e-9 || m.Requests != 250 {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, cut := range []string{"", "loops 500000\n", "loops 0\nrequests 0\n", "nproc: not found\n"} {
		if m, err := parse(cut); err == nil {
			t.Errorf("%q is %+v", cut, m)
		}
	}
}

// cluster is one in memory.
func cluster(answer func([]string) ([]byte, error)) *clustertest.Cluster {
	c := clustertest.New("demo", clusters.Spec{Zones: []string{"a"}}.WithDefaults())
	for _, n := range c.Machines {
		n.OnExec = answer
	}
	return c
}

// A machine that is too slow is looked at again, and refused within two minutes. What could not be measured is no refusal.
func TestMeasureSaysWhenItCannot(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		began, asked := time.Now(), 0
		_, err := Measure(t.Context(), cluster(func([]string) ([]byte, error) { asked++; return nil, errors.New("no bash") }))
		if err == nil || !strings.Contains(err.Error(), "no bash") || asked < 2 || time.Since(began) > 2*time.Minute {
			t.Errorf("asked %d times in %s: %v", asked, time.Since(began), err)
		}
	})
}

// shown are the notes that were shown.
type shown []string

func (s *shown) Say(string)       {}
func (s *shown) Note(text string) { *s = append(*s, text) }

func TestOf(t *testing.T) {
	measured := func(m runfolder.Fit, err error) Options {
		return Options{Measure: func(context.Context, clusters.Cluster) (runfolder.Fit, error) { return m, err }}
	}
	grace := 8 * time.Second
	c := cluster(func(command []string) ([]byte, error) {
		if command[0] == "sed" {
			if !slices.Contains(command, "s/--node-monitor-grace-period=.*/--node-monitor-grace-period=20s/") {
				t.Errorf("changed by %q", command)
			}
			grace = patient
		}
		return []byte("12 kube-controller-manager --node-monitor-grace-period=" + grace.String()), nil
	})
	slow := runfolder.Fit{Cluster: "demo", Processors: 0.4, Requests: 600, PodStart: time.Second}
	calm := runfolder.Fit{Cluster: "demo", Processors: 1, Requests: 4000, PodStart: time.Second}
	var notes shown
	if f, err := Of(t.Context(), c, measured(slow, nil), true, &notes); err != nil || f.NodeMonitorGrace != 0 || grace == patient {
		t.Errorf("a cluster that was there before is changed: %+v, %v", f, err)
	}
	notes = nil
	if f, err := Of(t.Context(), c, measured(calm, nil), false, &notes); err != nil || f.Rate != 1 || grace == patient || len(notes) > 0 {
		t.Errorf("on a calm machine: %+v, %v, said %q", f, err, notes)
	}
	if f, err := Of(t.Context(), c, measured(slow, nil), false, &notes); err != nil || f.Rate != 0.5 || grace != patient || len(notes) != 1 {
		t.Errorf("on a slow machine: %+v, %v, said %q", f, err, notes)
	}
	notes = nil
	if f, err := Of(t.Context(), c, measured(runfolder.Fit{}, errors.New("no bash")), false, &notes); err != nil || f.NodeMonitorGrace != 0 || len(notes) != 1 || !strings.Contains(notes[0], "no bash") {
		t.Errorf("not measured: %+v, %v, said %q", f, err, notes)
	}
	if _, err := Of(t.Context(), c, measured(runfolder.Fit{}, nil), false, &notes); err == nil {
		t.Error("a machine that carries nothing is taken")
	}
	if f, err := Of(t.Context(), c, Options{}, false, &notes); err != nil || f != (runfolder.Fit{}) {
		t.Errorf("without a measurer: %+v, %v", f, err)
	}
}
