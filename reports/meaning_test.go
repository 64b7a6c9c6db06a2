package reports

import (
	"strings"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestMeaning(t *testing.T) {
	lanes := func(ok, failed uint64) []Lane {
		return []Lane{
			{Name: history.LaneFresh, OK: ok, Failed: failed}, {Name: history.LaneControl, OK: 99, Failed: 99},
		}
	}
	for name, test := range map[string]struct {
		s    Scenario
		want string
	}{
		"none failed": {
			Scenario{Lanes: lanes(12000, 0), Disruptions: Disruptions{PodTerminations: 5, NodeLosses: 1}},
			"0 of 12,000 requests failed over 6 disruption events (5 pod terminations, 1 node loss). 0 of N is not zero: with " +
				"95 % confidence at most 0.025 % of such requests fail on a lane, if they are independent, and at most 50 % of such disruptions, if they are independent too, fail a request.",
		},
		"no disruption": {
			Scenario{Lanes: lanes(300, 0)},
			"0 of 300 requests failed over 0 disruption events (0 pod terminations, 0 node losses). 0 of N is not zero: with " +
				"95 % confidence at most 1 % of such requests fail on a lane, if they are independent.",
		},
		"some failed": {
			Scenario{Lanes: lanes(90, 10), Disruptions: Disruptions{PodTerminations: 1}},
			"10 of 100 requests failed (10 %) over 1 disruption event (1 pod termination, 0 node losses).",
		},
		"behind a gateway": {
			Scenario{Gateway: &history.GatewayTotals{Requests: 205, Tries: 1150, Masked: 14, Failed: 2}, Lanes: []Lane{
				{Name: history.LaneFresh, OK: 90, Failed: 10, GatewayTries: 130, MaskedByGateway: 12},
				{Name: history.LaneReused, OK: 100, GatewayTries: 1001, MaskedByGateway: 1}, {Name: history.LaneControl, OK: 9},
			}},
			"10 of 200 requests failed (5 %) over 0 disruption events (0 pod terminations, 0 node losses). The gateway masked failures of " +
				"13 requests, which succeeded only because it tried another upstream; it made 1,131 attempts for all requests that were answered. " +
				"By its own count the gateway received 205 requests, made 1,150 attempts, masked 14 and failed 2.",
		},
		"nothing was sent": {Scenario{Lanes: lanes(0, 0)}, "No request was sent."},
		"no traffic":       {Scenario{}, "This scenario has no load. It is judged by scheduling and evictions."},
	} {
		if got := test.s.Meaning(); got != test.want {
			t.Errorf("%s:\n got %s\nwant %s", name, got, test.want)
		}
	}
}

func TestBoundsSayNothingWhereTheyCannot(t *testing.T) {
	s := Scenario{Lanes: []Lane{{Name: history.LaneFresh, OK: 100, Failed: 1}}}
	if requests, disruptions := s.Bounds95(); requests != nil || disruptions != nil {
		t.Errorf("with failures: %v %v", requests, disruptions)
	}
	s.Lanes[0].Failed = 0
	if requests, disruptions := s.Bounds95(); requests == nil || *requests != 0.03 || disruptions != nil {
		t.Errorf("without disruptions: %v %v", requests, disruptions)
	}
	if f := (&Scenario{}).Figures(); strings.Trim(f.Requests+f.Failed+f.Disruptions+f.Bound+f.P99, "–") != "" {
		t.Errorf("without traffic: %+v", f)
	}
}
