package load

import (
	"math"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/pace"
)

func TestPlanValidate(t *testing.T) {
	good := func() Plan {
		return Plan{ID: "p", Lanes: []Lane{{Lane: history.LaneFresh, Target: "http://backend:8080/", Rate: 100}}}
	}
	tests := []struct {
		name   string
		change func(*Plan)
		want   string // in the error; empty: valid
	}{
		{"good", func(*Plan) {}, ""},
		{"control without target", func(p *Plan) { p.Lanes = []Lane{{Lane: history.LaneControl, Rate: 1}} }, ""},
		{"no id", func(p *Plan) { p.ID = "" }, "no id"},
		{"no lanes", func(p *Plan) { p.Lanes = nil }, "no lanes"},
		{"negative duration", func(p *Plan) { p.Duration = -1 }, "duration -1ns is not between 0 and 24h0m0s"},
		{"endless", func(p *Plan) { p.Duration = MaxDuration + 1 }, "is not between 0 and 24h0m0s"},
		{"same lane twice", func(p *Plan) { p.Lanes = append(p.Lanes, p.Lanes[0]) }, `two lanes are named "fresh"`},
		{"unknown lane", func(p *Plan) { p.Lanes[0].Lane = "quic" }, `lane "quic": unknown`},
		{"no rate", func(p *Plan) { p.Lanes[0].Rate = 0 }, "rate 0 is not between"},
		{"rate is no number", func(p *Plan) { p.Lanes[0].Rate = math.NaN() }, "rate NaN is not between"},
		{"rate too high", func(p *Plan) { p.Lanes[0].Rate = MaxRate + 1 }, "rate 50001 is not between"},
		{"too many connections", func(p *Plan) { p.Lanes[0].Connections = MaxInFlight + 1 }, "connections 8193"},
		{"as many at the most as in turn", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].MaxConnections = history.LaneReused, DefaultConnections }, ""},
		{"more at the most on control", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].Connections, p.Lanes[0].MaxConnections = "control", 1, 2 }, ""},
		{"fewer at the most", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].MaxConnections = "reused", 31 }, "max connections 31 is less than 32 connections"},
		{"fewer at the most than asked for", func(p *Plan) {
			p.Lanes[0].Lane, p.Lanes[0].Connections, p.Lanes[0].MaxConnections = "reused", 5, 4
		}, "max connections 4 is less than 5 connections"},
		{"at the most, on fresh", func(p *Plan) { p.Lanes[0].MaxConnections = 100 }, `max connections: want one of lanes ["reused" "control"]`},
		{"at the most, on websocket", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].MaxConnections = "websocket", 100 }, `max connections: want one of lanes ["reused" "control"]`},
		{"negatively many at the most", func(p *Plan) { p.Lanes[0].MaxConnections = -1 }, "max connections -1 is not between 0 and 8192"},
		{"too many at the most", func(p *Plan) { p.Lanes[0].MaxConnections = MaxInFlight + 1 }, "max connections 8193 is not between"},
		{"idle", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].Idle = history.LaneReused, MaxIdle }, ""},
		{"idle on fresh", func(p *Plan) { p.Lanes[0].Idle = time.Second }, "idle: it keeps no connections, or pings them"},
		{"idle on h2c", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].Idle = LaneH2C, time.Second }, "idle: it keeps no connections, or pings them"},
		{"idle for too long", func(p *Plan) { p.Lanes[0].Idle = MaxIdle + 1 }, "idle 1m0.000000001s is not between 0 and 1m0s"},
		{"idle, and a number of connections", func(p *Plan) {
			p.Lanes[0].Lane, p.Lanes[0].Idle, p.Lanes[0].Connections = history.LaneReused, time.Second, 3
		}, "and their number is not chosen otherwise"},
		{"too many idle connections", func(p *Plan) {
			p.Lanes[0].Lane, p.Lanes[0].Idle, p.Lanes[0].Rate = history.LaneReused, time.Minute, 200
		}, "idle 1m0s takes 12000 connections of a worker: the most are 8192"},
		{"too many in flight", func(p *Plan) { p.Lanes[0].InFlight = MaxInFlight + 1 }, "in flight 8193"},
		{"negative time-out", func(p *Plan) { p.Lanes[0].Timeouts.Connect = -1 }, "is negative"},
		{"another workload's answer", func(p *Plan) { p.Lanes[0].Expect.Status = []int{204} }, ""},
		{"another workload's answer over gRPC", func(p *Plan) { p.Lanes[0].Lane, p.Lanes[0].Expect.Status = LaneGRPC, []int{204} }, "only the sample backend answers this lane"},
		{"another workload's answer on control", func(p *Plan) {
			p.Lanes[0].Lane, p.Lanes[0].Expect.Status = history.LaneControl, []int{204}
		}, "only the sample backend answers this lane"},
		{"no good status", func(p *Plan) { p.Lanes[0].Expect.Contains = "x" }, `expect an answer with "x" in the body: no status`},
		{"no target", func(p *Plan) { p.Lanes[0].Target = "" }, `target "" is no http URL`},
		{"other scheme", func(p *Plan) { p.Lanes[0].Target = "ftp://backend/" }, "is no http URL"},
		{"no host", func(p *Plan) { p.Lanes[0].Target = "http:///" }, "is no http URL"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			p := good()
			tt.change(&p)
			switch err := p.Validate(); {
			case tt.want == "" && err != nil:
				t.Errorf("refused: %v", err)
			case tt.want != "" && (err == nil || !strings.Contains(err.Error(), tt.want)):
				t.Errorf("got %v, want %q", err, tt.want)
			}
		})
	}
}

func TestPlanDefaults(t *testing.T) {
	asked := Plan{ID: "p", Lanes: []Lane{
		{Lane: history.LaneReused, Target: "http://a/", Rate: 200},
		{Lane: LaneSocket, Target: "http://a/", Rate: 1},
		{Lane: LaneH2C, Target: "http://a/", Rate: 1},
		{Lane: history.LaneControl, Rate: 10_000, Timeouts: Timeouts{Request: time.Second}, Connections: 3},
	}}
	want := Plan{ID: "p", Duration: DefaultDuration, Lanes: []Lane{
		{Lane: history.LaneReused, Target: "http://a/", Rate: 200, Connections: 32, InFlight: 1000, Timeouts: DefaultTimeouts},
		{Lane: LaneSocket, Target: "http://a/", Rate: 1, Connections: 16, InFlight: 64, Timeouts: DefaultTimeouts},
		{Lane: LaneH2C, Target: "http://a/", Rate: 1, Connections: 16, InFlight: 64, Timeouts: DefaultTimeouts},
		{
			Lane: history.LaneControl, Target: "http://control/", Rate: 10_000, Connections: 3, InFlight: MaxInFlight,
			Timeouts: Timeouts{Connect: time.Second, Response: 3 * time.Second, Request: time.Second},
		},
	}}
	if diff := cmp.Diff(want, asked.withDefaults("http://control/")); diff != "" {
		t.Error(diff)
	}
	if asked.Lanes[0].Connections != 0 {
		t.Error("the plan that was asked for was changed")
	}
}

// The due time of a request follows from the rate alone, and never drifts.
func TestPace(t *testing.T) {
	for _, rate := range []float64{0.3, 1, 33.3, 200, 3000, 10_000} {
		for _, k := range []uint64{0, 1, 2, 999, 1_000_003} {
			exact := time.Duration(math.Round(float64(k) * 1e9 / rate))
			due, over := pace.Rate(rate).Pace(0, k)
			if off := (due - exact).Abs(); over || off > time.Microsecond {
				t.Errorf("rate %v: request %d is due at %v, want %v", rate, k, due, exact)
			}
			if wait, _ := pace.Rate(rate).Pace(exact, k); wait.Abs() > time.Microsecond {
				t.Errorf("rate %v: at its time request %d has to wait %v", rate, k, wait)
			}
		}
		if got := pace.Rate(rate).Rate(time.Hour); got != rate {
			t.Errorf("rate is %v, want %v", got, rate)
		}
	}
}

// Lanes of the same rate are spaced evenly.
func TestStagger(t *testing.T) {
	for i, want := range []time.Duration{0, 2500 * time.Microsecond, 5 * time.Millisecond, 7500 * time.Microsecond} {
		if got := stagger(i, 4, 100); got != want {
			t.Errorf("lane %d of 4 begins after %v, want %v", i, got, want)
		}
	}
}

func TestTargets(t *testing.T) {
	p := Plan{Lanes: []Lane{{Target: "http://b/"}, {}, {Target: "http://a/"}, {Target: "http://b/"}}}
	if diff := cmp.Diff([]string{"http://b/", "http://a/"}, p.Targets()); diff != "" {
		t.Error(diff)
	}
}
