package observe

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// What a recorder of somebody else's cluster asks for: all that it may read, and no write.
func TestScopes(t *testing.T) {
	for name, test := range map[string]struct {
		scope Scope
		want  []string
	}{
		"two namespaces": {Scope{Namespaces: []string{"elsewhere", "ns"}, Reading: true}, []string{"listed node w1", "listed other", "listed mine",
			"listed deployment backend", "listed deployment db", "listed slice backend-1", "listed budget budget", "note Scheduled"}},
		"all namespaces": {Scope{Reading: true}, []string{"listed node w1", "listed mine", "listed other", "listed deployment backend", "listed deployment coredns",
			"listed deployment db", "listed slice backend-1", "listed budget budget", "note Scheduled"}},
		"a limited user": {Scope{Namespaces: []string{"ns"}, Without: []string{"nodes", "poddisruptionbudgets", "events"}, Reading: true},
			[]string{"listed mine", "listed deployment backend", "listed deployment db", "listed slice backend-1"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				objects := oneOfEach()
				for i, o := range objects {
					o.(metav1.Object).SetUID(types.UID(fmt.Sprint(i)))
				}
				client := fake.NewClientset(objects...)
				sink := &notebook{began: time.Now()}
				w, err := Start(t.Context(), client, test.scope, sink)
				if err != nil {
					t.Fatal(err)
				}
				time.Sleep(3 * time.Second)
				if err := w.Stop(); err != nil {
					t.Error(err)
				}
				if got := sink.words(); !slices.Equal(slices.Sorted(slices.Values(got)), slices.Sorted(slices.Values(test.want))) {
					t.Errorf("got %q, want %q in some order", got, test.want)
				}
				for _, a := range client.Actions() {
					if verb := a.GetVerb(); verb != "list" && verb != "watch" {
						t.Errorf("the recorder sent %s %s", verb, a.GetResource().Resource)
					}
				}
				if slices.ContainsFunc(sink.self, func(e history.Event) bool { return e.Echo != nil }) || len(sink.self) < 3 {
					t.Errorf("the harness recorded of itself %v, want noise alone", sink.self)
				}
			})
		})
	}
}

// The API server of somebody else may be away for a night. A recorder that had given up would have recorded nothing of the morning.
func TestAPatientWatchOutlastsTheNight(t *testing.T) {
	for name, test := range map[string]struct {
		patient bool
		want    []string
	}{
		"patient":   {true, []string{"listed a", "gap since 0s", "added b"}},
		"impatient": {false, []string{"listed a"}},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				live, morning := watch.NewFake(), watch.NewFake()
				s := &script{lists: []any{[]*corev1.Pod{pod("a", "9")}}, sink: &notebook{began: time.Now()}}
				st := s.stream()
				st.patient = test.patient
				begun := time.Now()
				attempts := 0
				st.watch = func(_ context.Context, _ metav1.ListOptions) (watch.Interface, error) {
					switch attempts++; {
					case attempts == 1:
						return live, nil
					case time.Since(begun) < 9*time.Hour:
						return nil, errors.New("connection refused")
					}
					return morning, nil
				}
				var server sync.WaitGroup
				defer server.Wait()
				server.Go(func() {
					time.Sleep(time.Hour)
					live.Stop()
					time.Sleep(9 * time.Hour)
					if test.patient {
						morning.Add(pod("b", "15"))
					}
				})
				ctx, cancel := context.WithTimeout(t.Context(), 12*time.Hour)
				defer cancel()
				if err := st.list(ctx); err != nil {
					t.Fatal(err)
				}
				err := st.follow(ctx)
				if gaveUp := err != nil; gaveUp == test.patient {
					t.Errorf("follow: %v", err)
				}
				wantWords(t, s.sink, test.want...)
				if attempts > 7000 { // 8 h, one in 5 s, and a minute of four a second
					t.Errorf("%d attempts", attempts)
				}
			})
		})
	}
}

// The memory of a recording does not grow with its days.
func TestOldReportsAreForgotten(t *testing.T) {
	o := &order{}
	for i := range 100_000 {
		o.report(fmt.Sprint(1000+i), time.Duration(i)*time.Second)
	}
	if n, most := len(o.reports), 2*int(remembered/time.Second)+2; n > most {
		t.Errorf("%d reports are kept, want at most %d", n, most)
	}
	if _, later, overtaken := o.report("1000", 100_001*time.Second); !overtaken || 100_001*time.Second-later < remembered {
		t.Errorf("a change that is a day late: overtaken %t, at %s", overtaken, later)
	}
}

// Each record of a cluster tells that this machine slept meanwhile, also if it slept until the end.
func TestASleepIsInTheRecord(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		sink := &notebook{began: time.Now()}
		read := func() clockReading {
			c := clockReading{Running: sink.Now(), Boot: sink.Now(), Wall: sink.Now()}
			if c.Running > 1500*time.Millisecond {
				c.Boot += time.Hour
			}
			return c
		}
		w, err := Start(t.Context(), fake.NewClientset(), Scope{Reading: true, clocks: read}, sink)
		if err != nil {
			t.Fatal(err)
		}
		time.Sleep(1600 * time.Millisecond)
		if err := w.Stop(); err != nil {
			t.Error(err)
		}
		var why []string
		for _, e := range sink.events {
			if e.Gap != nil {
				why = append(why, e.Gap.Why)
			}
		}
		if want := []string{"this machine was suspended for 1h0m0s"}; !slices.Equal(why, want) {
			t.Errorf("gaps %q, want %q", why, want)
		}
	})
}
