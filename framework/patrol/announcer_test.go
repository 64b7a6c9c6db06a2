package patrol

import (
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/patrol/patroltest"
)

// board is a place where Events are pinned.
type board struct {
	*testing.T
	client *fake.Clientset
	a      *Announcer
}

func newBoard(t *testing.T) *board {
	client := fake.NewClientset()
	return &board{t, client, NewAnnouncer(client.EventsV1(), "patrol-0")}
}

func (b *board) events() []eventsv1.Event {
	b.Helper()
	all, err := b.client.EventsV1().Events("").List(b.Context(), metav1.ListOptions{})
	if err != nil {
		b.Fatal(err)
	}
	return all.Items
}

// creates counts the requests that create Events, and clears them.
func (b *board) creates() (n int) {
	for _, a := range b.client.Actions() {
		if a.GetVerb() == "create" {
			n++
		}
	}
	b.client.ClearActions()
	return n
}

// seen is a state with findings of one rule on so many workloads.
func seen(at time.Time, workloads int, severity audit.Severity) *state {
	s := &state{taken: at, tried: at, uids: map[string]types.UID{}}
	for i := range workloads {
		f := audit.Finding{
			Rule: "no-budget", Severity: severity, Namespace: "shop", Kind: audit.Deployment, Name: fmt.Sprintf("web-%d", i), Evidence: "evictions may take all",
		}
		s.findings, s.uids[f.Object()] = append(s.findings, finding{f, at}), types.UID(fmt.Sprintf("uid-%d", i))
	}
	return s
}

func TestEvent(t *testing.T) {
	b := newBoard(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	s := seen(now, 1, audit.Error)
	s.findings[0].Evidence = strings.Repeat("ä", 700)
	b.a.announce(t.Context(), s)
	all := b.events()
	if len(all) != 1 {
		t.Fatalf("%d Events", len(all))
	}
	e := all[0]
	if e.Namespace != "shop" || e.Type != corev1.EventTypeWarning || e.Reason != "NoBudget" || e.ReportingController != "holdfast.dev/patrol" ||
		e.ReportingInstance != "patrol-0" || !e.EventTime.Time.Equal(now) || e.Note != strings.Repeat("ä", 512) || e.Action == "" {
		t.Errorf("%+v", e)
	}
	if r := e.Regarding; r.Kind != "Deployment" || r.APIVersion != "apps/v1" || r.Namespace != "shop" || r.Name != "web-0" || r.UID != "uid-0" {
		t.Errorf("it is about %+v", r)
	}
}

// One Event is enough for a finding, also after a restart of the patrol. When the API server has dropped it, it is written again.
func TestEventsAreWrittenOnce(t *testing.T) {
	b := newBoard(t)
	now := time.Date(2026, 3, 1, 12, 0, 0, 0, time.UTC)
	b.a.announce(t.Context(), seen(now, 3, audit.Warning))
	if n := b.creates(); n != 3 || b.a.written.Load() != 3 {
		t.Errorf("%d requests for three findings, %d written", n, b.a.written.Load())
	}
	b.a.announce(t.Context(), seen(now.Add(remind-time.Second), 3, audit.Warning))
	if n := b.creates(); n != 0 {
		t.Errorf("%d requests a little later", n)
	}
	b.a.announce(t.Context(), seen(now.Add(remind), 3, audit.Warning))
	if n := b.creates(); n != 3 || b.a.written.Load() != 3 || b.a.refused.Load() != 0 {
		t.Errorf("after a while %d requests, %d written, %d refused", n, b.a.written.Load(), b.a.refused.Load())
	}
	b.a = NewAnnouncer(b.client.EventsV1(), "patrol-1")
	b.a.announce(t.Context(), seen(now.Add(remind), 3, audit.Warning))
	if len(b.events()) != 3 || b.a.written.Load() != 0 || b.a.refused.Load() != 0 {
		t.Errorf("after a restart %d Events, %d written, %d refused", len(b.events()), b.a.written.Load(), b.a.refused.Load())
	}
	if err := b.client.EventsV1().Events("shop").Delete(t.Context(), b.events()[0].Name, metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	b.a.announce(t.Context(), seen(now.Add(3*remind), 3, audit.Warning))
	if len(b.events()) != 3 || b.a.written.Load() != 1 {
		t.Errorf("after one has expired %d Events, %d written", len(b.events()), b.a.written.Load())
	}
}

// Notes, findings that were not seen in this round, and workloads that are not known get none.
func TestNoEvent(t *testing.T) {
	now := time.Now()
	stale := seen(now, 1, audit.Error)
	stale.findings[0].seen = now.Add(-time.Minute)
	unknown := seen(now, 1, audit.Error)
	clear(unknown.uids)
	for name, s := range map[string]*state{"a note": seen(now, 1, audit.Note), "a finding from before": stale, "no such workload": unknown} {
		b := newBoard(t)
		b.a.announce(t.Context(), s)
		if n := b.creates(); n > 0 {
			t.Errorf("%s: %d Events", name, n)
		}
	}
}

// A workload that was deleted and made again is another one, so its finding gets an Event of its own.
func TestEventsOfAWorkloadThatWasMadeAgain(t *testing.T) {
	b := newBoard(t)
	now := time.Now()
	b.a.announce(t.Context(), seen(now, 1, audit.Error))
	again := seen(now.Add(time.Minute), 1, audit.Error)
	again.uids["shop/Deployment/web-0"] = "another uid"
	b.a.announce(t.Context(), again)
	if all := b.events(); len(all) != 2 {
		t.Errorf("%d Events, want 2", len(all))
	}
}

// No round writes more than its share, and all are written in the end.
func TestEventsOfARoundAreBounded(t *testing.T) {
	b := newBoard(t)
	now := time.Now()
	for i, want := range []int{mostEvents, mostEvents, 50, 0} {
		b.a.announce(t.Context(), seen(now.Add(time.Duration(i)*time.Second), 2*mostEvents+50, audit.Error))
		if n := b.creates(); n != want {
			t.Errorf("round %d: %d Events, want %d", i+1, n, want)
		}
	}
}

// A refusal ends the Events of its round, is counted, and is tried again. It does not disturb the patrol.
func TestEventsThatAreRefused(t *testing.T) {
	b := newBoard(t)
	b.client.PrependReactor("create", "events", func(k8stesting.Action) (bool, runtime.Object, error) {
		return true, nil, apierrors.NewForbidden(schema.GroupResource{Resource: "events"}, "", errors.New("not for you"))
	})
	c := patroltest.New(t)
	c.Deploy("one", unbudgeted, patroltest.Spread...)
	c.Deploy("two", unbudgeted, patroltest.Spread...)
	p := watching(c)
	p.o.Writer = b.a
	for range 2 {
		p.round(t.Context())
	}
	if n := b.creates(); n != 2 {
		t.Errorf("%d requests in two rounds, want one in each", n)
	}
	if got := series(t, p, "audit_events_total"); len(got) != 2 || !strings.HasSuffix(got[0], `"failure"} 2`) || !strings.HasSuffix(got[1], `"success"} 0`) {
		t.Errorf("metrics: %v", got)
	}
	if len(series(t, p, "workload_finding")) != 2 {
		t.Error("the findings are not shown")
	}
}

func TestReasonOfEachRule(t *testing.T) {
	for _, r := range audit.Rules {
		if reason := reasonOf(r.ID); reason == "" || strings.Contains(reason, "-") || reason[0] < 'A' || reason[0] > 'Z' || len(reason) > 128 {
			t.Errorf("%s: %q", r.ID, reason)
		}
	}
}
