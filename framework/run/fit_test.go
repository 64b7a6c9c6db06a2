package run

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// measures sets what the machine of each cluster of the fixture carries.
func (c *fixture) measures(m runfolder.Fit) {
	c.settings.Measure = func(_ context.Context, k clusters.Cluster) (runfolder.Fit, error) {
		c.note("measure " + k.Name())
		m.Cluster = k.Name()
		return m, nil
	}
}

// A machine that is too slow ends the run before any load, with the reason, and the cluster is given back. What was measured is in run.json.
func TestAMachineThatIsTooSlow(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		c.measures(runfolder.Fit{Processors: 0.04, Requests: 20, PodStart: time.Minute})
		got := c.one(t.Context(), s)
		if got.err == nil || !strings.Contains(got.err.Error(), "this machine is too slow") || c.stop == nil {
			t.Errorf("got %+v, and the run is stopped by %v", got, c.stop)
		}
		if all := strings.Join(c.did, "\n"); !strings.Contains(all, "measure ") || !strings.Contains(all, "close ") || strings.Contains(all, "clear") {
			t.Errorf("it did\n%s", all)
		}
		if f := c.kept(); len(f.Fits) != 1 || f.Fits[0].Processors != 0.04 || f.Scenarios[0].Error == "" {
			t.Errorf("run.json has %+v", f)
		}
	})
}

// A cluster is measured once, and what was chosen stands in the records of its scenarios and once in run.json.
func TestWhatWasChosenIsRecorded(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, first, second := newFixture(t), quiet(), quiet()
		second.Name = "chaos/second"
		c.measures(runfolder.Fit{Processors: 1.2, Requests: 4000, PodStart: time.Second})
		c.settings.LoadRate = 0.5
		for _, s := range []scenario.Spec{first, second} {
			c.one(t.Context(), s)
		}
		if n := strings.Count(strings.Join(c.did, "\n"), "measure "); n != 1 {
			t.Errorf("measured %d times", n)
		}
		f := c.kept()
		if len(f.Fits) != 1 || f.Fits[0].Rate != 0.5 || f.Fits[0].NodeMonitorGrace != 0 {
			t.Errorf("run.json has %+v", f.Fits)
		}
		if h := c.recorded(first).Header; h.Cluster.Timings.NodeMonitorGrace != clusters.Lab.Timings().NodeMonitorGrace || len(h.Notes) != 0 {
			t.Errorf("without load, the record notes %q", h.Notes)
		}
	})
}

// A cluster that outlives the run keeps its timings: the next run would not know that they were changed.
func TestAClusterThatStaysKeepsItsTimings(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c, s := newFixture(t), quiet()
		c.settings.Keep = true
		c.measures(runfolder.Fit{Processors: 0.4, Requests: 600, PodStart: time.Second})
		c.one(t.Context(), s)
		if f := c.kept(); len(f.Fits) != 1 || f.Fits[0].Rate != 0.5 || f.Fits[0].NodeMonitorGrace != 0 {
			t.Errorf("run.json has %+v", f.Fits)
		}
	})
}
