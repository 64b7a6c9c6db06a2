package invariant_test

import (
	"fmt"
	"maps"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	ht "github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/attribution"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// behindAService sends all requests to a Service's address: that says nothing of the pod.
func behindAService(b *ht.Builder) *ht.Builder {
	return b.EditRequests(func(r *history.Request) { r.Addr = "10.96.0.1:80" })
}

// astray makes the fresh requests of a time fail, and nobody knows whom they were sent to.
func astray(b *ht.Builder, from, to history.Offset, outcome history.Outcome) *ht.Builder {
	return behindAService(b).Fail(history.LaneFresh, from, to, outcome).EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneFresh && r.Outcome.Failed() {
			r.Pod, r.Node, r.Zone, r.Revision, r.Inferred = "", "", "", "", false
		}
	})
}

// pods says of all of them how they begin and end.
func pods(b *ht.Builder, l history.Lifecycle) *ht.Builder {
	return b.EditEvents(func(e *history.Event) {
		if e.Pod != nil && (e.Pod.Change == history.Listed || e.Pod.Change == history.Added) {
			e.Pod.Lifecycle = &l
		}
	})
}

// behindAGateway lets a gateway answer all requests, and give up those that failed.
func behindAGateway(b *ht.Builder, status int) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		r.GatewayTries = 1
		if r.Outcome.Failed() {
			r.Outcome, r.Status = history.BadStatus, status
		}
	})
}

// cutOff makes requests on kept connections to the victim of the drain fail.
func cutOff(b *ht.Builder, from, to history.Offset) *ht.Builder {
	return behindAService(b).EditRequests(func(r *history.Request) {
		if r.Lane == history.LaneReused && r.Due >= from && r.Due < to {
			r.Outcome, r.Status, r.Reused, r.Inferred = history.Reset, 0, true, true
			r.Pod, r.Node = ht.Victim, ht.DrainedNode
		}
	})
}

// givesUp lets the clients of the requests that were cut wait for three seconds instead.
func givesUp(b *ht.Builder) *ht.Builder {
	return b.EditRequests(func(r *history.Request) {
		if r.Outcome == history.Reset {
			r.Outcome, r.Done = history.TimeoutResponse, r.Sent+3*second
		}
	})
}

func note(b *ht.Builder, at history.Offset, pod, reason, message string) *ht.Builder {
	return b.Event(history.Event{T: at, KubeNote: &history.KubeNote{
		Namespace: ht.Namespace, Kind: "Pod", Name: pod, Reason: reason, Message: message, Source: "kubelet",
	}})
}

// notBefore lets a pod answer nobody until then.
func notBefore(b *ht.Builder, pod string, at history.Offset) *ht.Builder {
	return b.DropRequests(func(r history.Request) bool { return r.Pod == pod && r.Due < at })
}

// silence drops what was answered.
func silence(b *ht.Builder, from, to history.Offset) *ht.Builder {
	return b.DropRequests(func(r history.Request) bool { return r.Outcome == history.OK && r.Due >= from && r.Due < to })
}

// ended lets the victim of the drain end at a moment, while its object exists for longer.
func ended(at history.Offset) *ht.Builder {
	p := ht.ReadyPod(ht.Victim, ht.DrainedNode, history.Modified)
	p.Deleting, p.Phase, p.Ready = true, "Succeeded", false
	return ht.Healthy().Pod(at, p)
}

// echoes measures once a second that the watches are late.
func echoes(b *ht.Builder, late history.Offset) *ht.Builder {
	for at := 2 * second; at < 30*second; at += second {
		b.Event(history.Event{T: at, Echo: &history.Echo{Sent: at - late}})
	}
	return b
}

// evictAll takes every pod at once.
func evictAll(at history.Offset, edit func(*history.Pod)) *ht.Builder {
	b := ht.Healthy()
	for i := 2; i <= ht.Replicas; i++ {
		p := ht.ReadyPod(fmt.Sprintf("backend-%d", i), fmt.Sprintf("w%d", i), history.Modified)
		edit(&p)
		b.Pod(at, p)
		p.Phase, p.Ready = "Succeeded", false
		b.Pod(at+second, p)
	}
	b.DropEvents(func(e history.Event) bool {
		return e.Slice != nil && e.T > at || e.Pod != nil && e.Pod.Name == ht.Replacement
	})
	return b.Slice(at+10*ms, history.Slice{Change: history.Modified, Name: "backend-abcde", Service: ht.Service})
}

// TestCausesOfFailures plants one cause after another.
func TestCausesOfFailures(t *testing.T) {
	careful := history.Lifecycle{Readiness: true, PreStop: 3 * time.Second, Grace: 30 * time.Second}
	at := ht.EvictedAt // the victim's deletion
	deleting := func(p *history.Pod) { p.Deleting = true }
	for name, s := range map[string]struct {
		run  *ht.Builder
		want map[string]float64
	}{
		"refused by a pod that ends, and has no preStop sleep": {
			astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+400*ms, history.Refused),
			map[string]float64{"late-endpoint": 60},
		},
		"a bad answer when the pod that ended is gone": {
			astray(ht.Healthy(), 26*second, 26300*ms, history.BadStatus), map[string]float64{"unknown": 60},
		},
		"a wrong body while the last proxies may send it requests": {
			astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), 22100*ms, 22400*ms, history.WrongBody), map[string]float64{"unknown": 60},
		},
		"a bad answer when a pod was told to end": {
			astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+400*ms, history.BadStatus), map[string]float64{"bad-answer-while-ending": 60},
		},
		"half an answer when a pod was told to end": {
			astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), at+100*ms, at+400*ms, history.Truncated), map[string]float64{"cut-at-sigterm": 60},
		},
		"a bad answer when every pod has gone": {
			silence(evictAll(20*second, deleting), 20*second, never).Load(history.LaneFresh, 200, 24*second, 24300*ms).EditRequests(func(r *history.Request) {
				if r.Due >= 24*second {
					r.Outcome, r.Status, r.Pod, r.Node, r.Addr = history.BadStatus, 503, "", "", "10.96.0.1:80"
				}
			}), map[string]float64{"unknown": 60},
		},
		"the same in an old record, which says nothing of preStop": {
			astray(ht.Healthy(), at+100*ms, at+400*ms, history.Refused), map[string]float64{"late-endpoint": 60},
		},
		"refused while the preStop sleep of the only pod that ends lasts": {
			astray(pods(ht.Healthy(), careful), at+100*ms, at+400*ms, history.Refused), map[string]float64{"unknown": 60},
		},
		"refused long after anything happened": {
			astray(ht.Healthy(), 36*second, 36300*ms, history.Refused), map[string]float64{"unknown": 60},
		},
		"timed out, and nothing was wrong": {
			astray(ht.Healthy(), 36*second, 36300*ms, history.TimeoutConnect), map[string]float64{"slow": 60},
		},
		"a watch was blind": {
			astray(ht.Healthy().Gap("pods", at, at+second), at+100*ms, at+400*ms, history.Refused), map[string]float64{"unknown": 60},
		},
		"refused by a new pod that nobody asked whether it is ready": {
			astray(notBefore(pods(ht.Healthy(), history.Lifecycle{PreStop: 3 * time.Second}), ht.Replacement, 21500*ms),
				20500*ms, 20800*ms, history.Refused),
			map[string]float64{"ready-too-early": 50},
		},
		"refused while a new pod that was asked gets no requests yet": {
			astray(notBefore(pods(ht.Healthy(), careful), ht.Replacement, 21500*ms), 20500*ms, 20800*ms, history.Refused),
			map[string]float64{"late-withdrawal": 50}, // of the victim, whose endpoint was removed 3.5 s before
		},
		"refused just after the preStop sleep, by a proxy that is within its time": {
			astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true, PreStop: time.Second}), at+1200*ms, at+1500*ms, history.Refused),
			map[string]float64{"late-endpoint": 60},
		},
		"refused later than any proxy needs on a usual machine": {
			astray(pods(ht.Healthy(), careful), at+3100*ms, at+3400*ms, history.Refused), map[string]float64{"late-withdrawal": 60},
		},
		"dropped at SIGTERM":        {cutOff(pods(ht.Healthy(), careful), at+3*second, at+3100*ms), map[string]float64{"cut-at-sigterm": 20}},
		"kept to the end":           {cutOff(pods(ht.Healthy(), careful), at+10*second, at+10100*ms), map[string]float64{"cut-at-end": 20}},
		"cut, and nobody knows why": {cutOff(ht.Healthy(), at+3*second, at+3100*ms), map[string]float64{"cut-while-ending": 20}},
		"cut by a pod that is well": {cutOff(ht.Healthy(), 15600*ms, 15700*ms), map[string]float64{"cut-while-ready": 20}},
		"timed out on the way to a dead node": {
			astray(pods(killed(), careful).DropRequests(func(r history.Request) bool { return r.Node == "w3" && r.Due > killAt }),
				17*second, 17300*ms, history.TimeoutConnect),
			map[string]float64{"node-lost": 50},
		},
		"on a connection to a dead node": {
			behindAService(killed()).EditRequests(func(r *history.Request) {
				if r.Lane == history.LaneReused && r.Node == "w3" && r.Due >= 17*second && r.Due < 18*second {
					r.Outcome, r.Inferred = history.TimeoutResponse, true
				}
			}), map[string]float64{"node-lost-connection": 34},
		},
		"not answered by a pod that is told to end meanwhile, and is there until the client gives up": {
			givesUp(cutOff(pods(ht.Healthy(), careful), at-500*ms, at-400*ms)), map[string]float64{"slow": 20},
		},
		"not answered by a pod that ends before the client gives up": {
			givesUp(cutOff(pods(ht.Healthy(), careful), at+9500*ms, at+9600*ms)), map[string]float64{"late-withdrawal": 20},
		},
		"a container that starts again": {
			astray(note(ht.Healthy(), 24*second, "backend-4", "Killing", "Container backend failed liveness probe, will be restarted").
				Pod(26*second, func() history.Pod {
					p := ht.ReadyPod("backend-4", "w4", history.Modified)
					p.Restarts = 1
					return p
				}()).DropRequests(func(r history.Request) bool { return r.Pod == "backend-4" && r.Due >= 24*second && r.Due < 26*second }),
				24500*ms, 24800*ms, history.Refused),
			map[string]float64{"restart": 50},
		},
		"a container that does not come back": {
			astray(ht.Healthy().Pod(24*second, func() history.Pod {
				p := ht.ReadyPod("backend-4", "w4", history.Modified)
				p.Restarts, p.Ready, p.Waiting = 1, false, "CrashLoopBackOff"
				return p
			}()).DropRequests(func(r history.Request) bool { return r.Pod == "backend-4" && r.Due >= 24*second }),
				24500*ms, 24800*ms, history.Refused),
			map[string]float64{"restart": 50},
		},
		"deleted by force, in the middle of its preStop sleep": {
			astray(pods(ht.Healthy(), careful).EditEvents(func(e *history.Event) {
				if e.T == ht.GoneAt {
					e.T = at + 50*ms
				}
			}), at+100*ms, at+400*ms, history.Refused),
			map[string]float64{"late-endpoint": 60},
		},
		"evicted by its kubelet": {
			astray(note(ht.Healthy(), 24*second, "backend-4", "Evicted", "The node was low on resource: memory.").
				DropRequests(func(r history.Request) bool { return r.Pod == "backend-4" && r.Due >= 24*second }),
				24500*ms, 24800*ms, history.Refused),
			map[string]float64{"pressure-eviction": 50},
		},
		"all evicted at once": {
			astray(silence(evictAll(at, func(p *history.Pod) { p.Deleting, p.Disruption = true, "EvictionByEvictionAPI" }), at, never),
				at+2*second, at+2*second, history.Refused).Load(history.LaneFresh, 200, at+5*second, at+5100*ms).EditRequests(func(r *history.Request) {
				if r.Due >= at+5*second {
					r.Outcome, r.Pod, r.Node, r.Addr = history.Refused, "", "", "10.96.0.1:80"
				}
			}), map[string]float64{"outage-eviction": 20},
		},
		"all deleted at once": {
			astray(silence(evictAll(at, deleting), at, never), at, at, history.Refused).
				Load(history.LaneFresh, 200, at+500*ms, at+600*ms).EditRequests(func(r *history.Request) {
				if r.Due >= at {
					r.Outcome, r.Pod, r.Node, r.Addr = history.Refused, "", "", "10.96.0.1:80"
				}
			}), map[string]float64{"outage-deletion": 20},
		},
		"a gateway that goes on sending to a dead node": {
			behindAGateway(astray(killed(), 25*second, 25300*ms, history.BadStatus), 502), map[string]float64{"dead-upstream": 60},
		},
		"a gateway that sends to a node without a pod": {
			behindAGateway(astray(ht.Healthy(), 25*second, 25300*ms, history.BadStatus), 502), map[string]float64{"empty-upstream": 60},
		},
		"a gateway that waits too long, and nothing is wrong": {
			behindAGateway(astray(ht.Healthy(), 15600*ms, 15900*ms, history.BadStatus), 504), map[string]float64{"slow": 60},
		},
		// In a real run, this was taken for a late proxy, which would have sent one in thirteen of 250 requests to the pod.
		"one refused after the ending pod's network is gone, while rules change": {
			astray(ended(ht.GoneAt-1500*ms), ht.GoneAt-400*ms, ht.GoneAt-398*ms, history.Refused), map[string]float64{"proxy-update": 1},
		},
		"the same in iptables mode, which replaces all rules at once": {
			astray(ended(ht.GoneAt-1500*ms), ht.GoneAt-400*ms, ht.GoneAt-398*ms, history.Refused).Header(func(h *history.Header) {
				h.Cluster.ProxyMode = "iptables"
			}), map[string]float64{"unknown": 1},
		},
		// In a real run, this was taken for a proxy that is late by 7 s, which would have sent ten more requests to the pod.
		"one refused long after the endpoint was removed, while rules change": {
			astray(notBefore(pods(ht.Healthy(), careful), ht.Replacement, 21500*ms), 20500*ms, 20502*ms, history.Refused),
			map[string]float64{"proxy-update": 1},
		},
		"the same in iptables mode, in which nothing else explains it": {
			astray(notBefore(pods(ht.Healthy(), careful), ht.Replacement, 21500*ms), 20500*ms, 20502*ms, history.Refused).
				Header(func(h *history.Header) { h.Cluster.ProxyMode = "iptables" }), map[string]float64{"late-withdrawal": 1},
		},
		// In a real run, a request was refused 0.7 s before the preStop sleep ended, and taken for one to the pod that ends.
		"one refused shortly before the preStop sleep ends, while rules change and the watches are on time": {
			echoes(astray(pods(ht.Healthy(), careful), at+2500*ms, at+2502*ms, history.Refused), 200*ms), map[string]float64{"proxy-update": 1},
		},
		"the same while the watches are late, so that the sleep may have ended": {
			echoes(astray(pods(ht.Healthy(), careful), at+2500*ms, at+2502*ms, history.Refused), 400*ms), map[string]float64{"late-endpoint": 1},
		},
		"two in a second are more than such a change explains": {
			astray(ended(ht.GoneAt-1500*ms), ht.GoneAt-400*ms, ht.GoneAt-391*ms, history.Refused), map[string]float64{"unknown": 2},
		},
		"one refused while nothing changed": {
			astray(ht.Healthy(), 15600*ms, 15602*ms, history.Refused), map[string]float64{"unknown": 1},
		},
		"a wrong answer": {
			ht.Healthy().EditRequests(func(r *history.Request) {
				if r.Pod == "backend-3" && r.Due >= 15600*ms && r.Due < 15630*ms {
					r.Outcome, r.Status = history.BadStatus, 500
				}
			}), map[string]float64{"bad-answer": 2},
		},
	} {
		t.Run(name, func(t *testing.T) {
			v := judge.Check(s.run.Run(), invariant.NoFailedRequests{})
			if diff := cmp.Diff(s.want, causesIn(v)); diff != "" {
				t.Errorf("causes (-want +got):\n%s%s\n%s", diff, v.Seen, strings.Join(v.Evidence, "\n"))
			}
			if got := v.Numbers["unattributed"]; got != s.want["slow"]+s.want["unknown"] {
				t.Errorf("%v are not attributed", got)
			}
		})
	}
}

const never = history.Offset(1<<63 - 1)

// causesIn are the numbers of a verdict that count causes.
func causesIn(v verdict.Verdict) map[string]float64 {
	found := make(map[string]float64)
	for name, n := range v.Numbers {
		if cause, ok := strings.CutPrefix(name, attribution.CauseNumber); ok {
			found[cause] = n
		}
	}
	return found
}

// TestTheStoryOfALateEndpoint is what an engineer reads first.
func TestTheStoryOfALateEndpoint(t *testing.T) {
	b := astray(pods(ht.Healthy(), history.Lifecycle{Readiness: true}), ht.EvictedAt+100*ms, ht.EvictedAt+400*ms, history.Refused)
	lines(t, judge.Check(b.Run(), invariant.NoFailedRequests{}))
}

// TestEveryCauseHasWords, and is named once.
func TestEveryCauseHasWords(t *testing.T) {
	seen := make(map[string]bool)
	for _, c := range attribution.Causes() {
		if words := c.Words(); words == string(c) || seen[words] || seen[string(c)] {
			t.Errorf("%s: %q", c, words)
		}
		seen[c.Words()], seen[string(c)] = true, true
	}
	if got := attribution.Cause("scheduler").Words(); got != "scheduler" {
		t.Errorf("a cause that others know is called %q", got)
	}
	ofSystem := maps.Collect(func(yield func(attribution.Cause, bool) bool) {
		for _, c := range []attribution.Cause{attribution.CauseSlow, attribution.CauseUnknown, attribution.CauseRestart, ""} {
			if !yield(c, c.OfSystem()) {
				return
			}
		}
	})
	if diff := cmp.Diff(map[attribution.Cause]bool{"slow": false, "unknown": false, "restart": true, "": false}, ofSystem); diff != "" {
		t.Error(diff)
	}
}

// TestManyKindsForCauses: failures that go on for hours, or are all of another kind, are laid against what was going on more
// coarsely. None is lost, and a record that was damaged does no more harm than that.
func TestManyKindsForCauses(t *testing.T) {
	const n = 17_000 // more kinds than are told apart
	for name, like := range map[string]func(i int) history.Request{
		"for hours":        func(i int) history.Request { return history.Request{Sent: time.Duration(i) * second} },
		"of other kinds":   func(i int) history.Request { return history.Request{Sent: 17 * second, Status: i} },
		"at other servers": func(i int) history.Request { return history.Request{Sent: 17 * second, Pod: fmt.Sprint("pod-", i)} },
		"at no time": func(i int) history.Request {
			return history.Request{Sent: -history.Offset(i) * second, Addr: "no address"}
		},
		"at the end of all times": func(i int) history.Request {
			return history.Request{Sent: never - history.Offset(i), Addr: fmt.Sprint("[::", i, "]:80")}
		},
	} {
		causes := attribution.NewFailureCauses(ht.Healthy().Run())
		for i := range n {
			r := like(i)
			r.Lane, r.Outcome = history.LaneFresh, history.Refused
			causes.Take(&r)
			r.Outcome, r.Pod = history.OK, ht.Victim
			causes.Take(&r)
		}
		var sum uint64
		for _, c := range causes.Counts() {
			sum += c.Failed
		}
		if sum != n {
			t.Errorf("%s: %d of %d were laid to a cause", name, sum, n)
		}
	}
}

// TestTheControlLaneHasNoCauses: what it sees is the harness's.
func TestTheControlLaneHasNoCauses(t *testing.T) {
	causes := attribution.NewFailureCauses(ht.Healthy().Run())
	causes.Take(&history.Request{Lane: history.LaneControl, Outcome: history.Refused, Sent: 17 * second})
	causes.Take(&history.Request{Lane: history.LaneFresh, Outcome: history.Unsent})
	if got := causes.Counts(); len(got) != 0 {
		t.Errorf("%+v", got)
	}
}
