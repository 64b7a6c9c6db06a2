package hold

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/process"
)

var demo = Options{Cluster: "demo"}

func take(t *testing.T, client kubernetes.Interface, run string, o Options) (*Hold, error) {
	t.Helper()
	return Take(t.Context(), client, run, "holdfast run --cluster demo", o)
}

func mustTake(t *testing.T, client kubernetes.Interface, run string, o Options) *Hold {
	t.Helper()
	h, err := take(t, client, run, o)
	if err != nil {
		t.Fatal(err)
	}
	return h
}

func checkError(t *testing.T, err error, want ...string) {
	t.Helper()
	for _, w := range want {
		if err == nil || !strings.Contains(err.Error(), w) {
			t.Errorf("got  %v\nwant %s", err, w)
		}
	}
}

// kill rewrites the Lease as if its holder's process had been killed.
func (s *server) kill(t *testing.T, change func(*Holder)) {
	t.Helper()
	who := s.holder(t)
	who.Began += "1" // as if the PID had been reused
	if change != nil {
		change(who)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	l, err := leaseOf(*who, s.lease, s.lease.Spec.RenewTime.Time)
	if err != nil {
		t.Fatal(err)
	}
	s.put(l)
}

// Rule 18: a second run gets an error that names the holder and the time, and gets the cluster once the first run has released it.
func TestTheSecondRunIsToldWhoseItIs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		first := mustTake(t, client, "run 1", demo)
		_, err := take(t, client, "run 2", demo)
		var held *HeldError
		if !errors.As(err, &held) || held.PID != os.Getpid() {
			t.Errorf("got %v", err)
		}
		checkError(t, err, "cluster demo is in use since "+first.who.Since.Format(time.TimeOnly)+" by run 1 (holdfast run --cluster demo; process ",
			": wait until it ends, or make another cluster with 'holdfast up NAME'")
		if err := first.Release(t.Context()); err != nil || s.holder(t) != nil {
			t.Errorf("release: %v; held by %+v", err, s.holder(t))
		}
		second := mustTake(t, client, "run 2", demo)
		if err := second.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// If many runs start at the same moment, exactly one gets the cluster.
func TestOneOfManyGetsIt(t *testing.T) {
	for range 20 {
		_, client := newServer()
		var got, held sync.Map
		var all sync.WaitGroup
		for i := range 8 {
			all.Go(func() {
				h, err := Take(t.Context(), client, fmt.Sprint(i), "holdfast run", demo)
				var refused *HeldError
				switch {
				case err == nil:
					got.Store(i, h)
				case errors.As(err, &refused):
					held.Store(i, true)
				default:
					t.Error(err)
				}
			})
		}
		all.Wait()
		count := 0
		got.Range(func(_, h any) bool {
			count++
			return h.(*Hold).Release(t.Context()) == nil
		})
		if count != 1 {
			t.Fatalf("%d runs hold the cluster", count)
		}
	}
}

// A live run keeps its hold while a fault is in force, however old its Lease is: the fault may make the API server unreachable for longer than the
// Lease lasts.
func TestAnAPIServerThatAFaultTakesAwayEndsNoRun(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		if err := h.Mark(t.Context(), "kube-apiserver away"); err != nil {
			t.Fatal(err)
		}
		writes := s.written()
		s.goAway(true)
		time.Sleep(10 * Silence)
		select {
		case <-h.Lost():
			t.Fatalf("lost: %v", h.Err())
		default:
		}
		s.goAway(false)
		_, err := take(t, client, "run 2", demo)
		checkError(t, err, "in use since")
		time.Sleep(2 * renewEvery)
		if s.written() <= writes {
			t.Error("the Lease was not renewed again")
		}
		h.Unmark()
		s.goAway(true)
		time.Sleep(Silence - renewEvery)
		s.goAway(false) // in time
		time.Sleep(2 * renewEvery)
		checkHeld(t, h)
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

func checkHeld(t *testing.T, h *Hold) {
	t.Helper()
	select {
	case <-h.Lost():
		t.Fatalf("lost: %v", h.Err())
	default:
	}
}

func awaitLost(t *testing.T, h *Hold) {
	t.Helper()
	select {
	case <-h.Lost():
	case <-time.After(10 * Silence):
		t.Fatal("the cluster is not lost")
	}
}

// A run whose Lease cannot be written for as long as after which another run may take the cluster has lost it, whichever call fails and whatever is
// going on. It leaves the Lease to the other run, and removes it if it is still its own.
func TestALeaseThatCannotBeWrittenEndsTheRun(t *testing.T) {
	for name, during := range map[string]func(t *testing.T, h *Hold){
		"nothing":         func(t *testing.T, h *Hold) { awaitLost(t, h) },
		"a fault is over": func(t *testing.T, h *Hold) { h.Unmark(); awaitLost(t, h) },
		"a fault is to be done": func(t *testing.T, h *Hold) {
			if err := h.Mark(t.Context(), "kill one worker"); err == nil {
				t.Error("a fault was recorded")
			}
			awaitLost(t, h)
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := newServer()
				h := mustTake(t, client, "run 1", demo)
				s.goAway(true)
				began := time.Now()
				during(t, h)
				if took := time.Since(began); took < Silence || took > Silence+2*renewEvery {
					t.Errorf("lost after %s", took)
				}
				checkError(t, h.Err(), "the Lease by which this run holds cluster demo could not be written for 3", "after 30s another run may take the cluster", "connection refused")
				checkError(t, h.Confirm(t.Context()), "could not be written")
				s.goAway(false)
				time.Sleep(Silence)
				if err := h.Release(t.Context()); err != nil || s.holder(t) != nil {
					t.Errorf("release: %v; held by %+v", err, s.holder(t))
				}
			})
		})
	}
}

// A read that fails after a conflict leaves nothing behind that keeps the Lease from being written: an empty object, as client-go returns it with an
// error, has no name, and would be refused for ever.
func TestTheLeaseIsWrittenAgainAfterAFailedRead(t *testing.T) {
	for name, conflict := range map[string]func(s *server){
		"our own write, whose answer was lost": func(s *server) { s.put(s.lease) },
		"the Lease was deleted":                func(s *server) { s.lease = nil },
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := newServer()
				h := mustTake(t, client, "run 1", demo)
				s.change(func() { conflict(s); s.reads = 2 })
				time.Sleep(3*renewEvery + time.Second)
				writes := s.written()
				time.Sleep(renewEvery)
				if s.written() == writes || s.holder(t).Run != "run 1" {
					t.Errorf("the Lease is not written again; held by %+v", s.holder(t))
				}
				if err := h.Mark(t.Context(), "kill one worker"); err != nil {
					t.Error(err)
				}
				_, err := take(t, client, "run 2", demo)
				checkError(t, err, "in use since", "by run 1 ")
				if err := h.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// What was seen of a Lease that is not ours is not kept: a process that has lost the cluster writes neither over the one that has it, nor over a holder
// whom it cannot read.
func TestALostClusterIsNotWrittenTo(t *testing.T) {
	for name, other := range map[string]string{"another run": `{"run":"run 2","token":"other"}`, "unknown": "?"} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := newServer()
				h := mustTake(t, client, "run 1", demo)
				s.change(func() { s.lease.Annotations[holderKey] = other; s.put(s.lease) })
				awaitLost(t, h)
				if err := h.Leave(t.Context(), "node w1 is not Ready"); err != nil {
					t.Error(err)
				}
				s.change(func() {
					if got := s.lease.Annotations[holderKey]; got != other {
						t.Errorf("the Lease of the other was overwritten with %s", got)
					}
				})
			})
		})
	}
}

// A fault that could not be recorded is not injected, and so the Lease names none.
func TestAFaultThatWasNotRecordedIsNotInForce(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		s.goAway(true)
		ctx, cancel := context.WithTimeout(t.Context(), renewEvery)
		defer cancel()
		if err := h.Mark(ctx, "kill one worker"); err == nil {
			t.Error("recorded without an API server")
		}
		s.goAway(false)
		time.Sleep(2 * renewEvery)
		if who := s.holder(t); who.Fault != "" {
			t.Errorf("the Lease says %q", who.Fault)
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Without a hold there is no Lease either.
func TestACopyThatCannotBeWritten(t *testing.T) {
	s, client := newServer()
	file := filepath.Join(t.TempDir(), "file")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	h, err := take(t, client, "run 1", Options{Cluster: "demo", Copy: filepath.Join(file, "held-by.json")})
	if err == nil || h != nil || s.holder(t) != nil {
		t.Errorf("%v: a hold %t, held by %+v", err, h != nil, s.holder(t))
	}
}

// While the API server is unreachable, the local copy names the holder: neither a second run nor heal may take the cluster
// then.
func TestWhileTheAPIServerIsAwayTheCopyTells(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		o := Options{Cluster: "demo", Copy: filepath.Join(t.TempDir(), "demo", "held-by.json")}
		h := mustTake(t, client, "run 1", o)
		s.goAway(true)
		healing := o
		healing.Heal = true
		for _, o := range []Options{o, healing} {
			_, err := take(t, client, "run 2", o)
			checkError(t, err, "cluster demo is in use since ", "by run 1 ")
		}
		_, err := take(t, client, "run 2", demo) // without a copy, as on another machine
		checkError(t, err, "the API server of cluster demo does not answer: if a run was killed in the middle of a fault, run 'holdfast heal demo'")
		s.goAway(false)
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
		if _, err := os.Stat(o.Copy); !errors.Is(err, os.ErrNotExist) {
			t.Errorf("the copy after the release: %v", err)
		}
	})
}

// A killed run is recognized at once, the error names its fault, and heal may take its cluster.
func TestAKilledRunIsNamedWithItsFault(t *testing.T) {
	for name, test := range map[string]struct {
		change func(*Holder)
		want   string
	}{
		"in the middle of a fault": {nil, "was killed in the middle of a fault, which was not undone on cluster demo: kill one worker: run 'holdfast heal demo' first"},
		"before":                   {func(h *Holder) { h.Fault = "" }, "was killed while it used cluster demo, and may have left something there: run 'holdfast heal demo' first"},
		"an undo had failed":       {func(h *Holder) { h.Left = "node w1 is not Ready" }, "did not leave cluster demo as it was: node w1 is not Ready: run 'holdfast heal demo' first"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := newServer()
				first := mustTake(t, client, "run 1", demo)
				if err := first.Mark(t.Context(), "kill one worker"); err != nil {
					t.Fatal(err)
				}
				first.end()
				s.kill(t, test.change)
				_, err := take(t, client, "run 2", demo)
				checkError(t, err, "run 1 (process ", test.want)
				heal := mustTake(t, client, "heal", Options{Cluster: "demo", Heal: true})
				_, err = take(t, client, "run 2", demo)
				checkError(t, err, "cluster demo is in use since", "by heal ")
				if err := heal.Release(t.Context()); err != nil {
					t.Error(err)
				}
				if err := first.Release(t.Context()); err != nil || s.holder(t) != nil {
					t.Errorf("release by the killed run: %v", err)
				}
			})
		})
	}
}

// Mark returns after the fault was recorded. Unmark is recorded a little later.
func TestMark(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		if err := h.Mark(t.Context(), "kill one worker"); err != nil || s.holder(t).Fault != "kill one worker" {
			t.Errorf("%v: %+v", err, s.holder(t))
		}
		h.Unmark()
		synctest.Wait()
		if s.holder(t).Fault != "" {
			t.Errorf("still %+v", s.holder(t))
		}
		s.goAway(true)
		checkError(t, h.Mark(t.Context(), "freeze one worker"), "waited 30s for the Lease of cluster demo to record the fault freeze one worker: ", "connection refused")
		s.goAway(false)
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// When another process takes the Lease, the hold is lost, and neither renewal nor release touches the other's Lease.
func TestATakeover(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		other := *s.holder(t)
		other.Token, other.Run = "other", "run 2"
		l, err := leaseOf(other, s.lease, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s.mu.Lock()
		s.put(l)
		s.mu.Unlock()
		<-h.Lost()
		checkError(t, h.Err(), "cluster demo was taken over by run 2 (holdfast run --cluster demo; process ")
		if err := h.Release(t.Context()); err != nil || s.holder(t).Token != "other" {
			t.Errorf("release: %v; the other's Lease is now %+v", err, s.holder(t))
		}
	})
}

// renew recreates a deleted Lease, and recognizes its own write after a lost answer.
func TestALeaseThatChangesUnderUs(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		s.mu.Lock()
		s.lease = nil
		s.mu.Unlock()
		time.Sleep(renewEvery + time.Second)
		if s.holder(t) == nil {
			t.Error("the Lease was not recreated")
		}
		s.mu.Lock()
		s.put(s.lease) // our own write, whose answer was lost
		s.mu.Unlock()
		time.Sleep(renewEvery + time.Second)
		select {
		case <-h.Lost():
			t.Errorf("lost: %v", h.Err())
		default:
		}
		if err := h.Release(t.Context()); err != nil || s.holder(t) != nil {
			t.Errorf("release: %v", err)
		}
	})
}

// If the answer to the first write is lost, Take removes the Lease, which the server may have stored anyway.
func TestTheAnswerToTheFirstWriteIsLost(t *testing.T) {
	s, client := newServer()
	s.home, s.deaf = true, true
	_, err := take(t, client, "run 1", demo)
	checkError(t, err, "take cluster demo: the answer was lost")
	if who := s.holder(t); who != nil {
		t.Errorf("held by %+v", who)
	}
}

// A process that writes the Lease between our read and our write gets the cluster.
func TestSomebodyIsFaster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		first, err := leaseOf(Holder{Run: "run 1", Process: process.Self(), Token: "1"}, nil, time.Now())
		if err != nil {
			t.Fatal(err)
		}
		s.home = true
		s.between = func() { s.put(first) }
		_, err = take(t, client, "run 2", demo)
		checkError(t, err, "in use since", "by run 1 ")
	})
}

// For a holder on another machine, only the age of its Lease shows whether it is gone.
func TestAHolderOnAnotherMachine(t *testing.T) {
	now := time.Now()
	far := Holder{Process: process.Process{Host: "far", PID: 1}}
	for name, test := range map[string]struct {
		seen
		want bool
	}{
		"renewed a moment ago": {seen{far, now.Add(-renewEvery)}, false},
		"silent":               {seen{far, now.Add(-2 * Silence)}, true},
		"known from a copy":    {seen{Holder: far}, false},
		"lives, and is silent": {seen{Holder{Process: process.Self()}, now.Add(-2 * Silence)}, false},
	} {
		if got := test.abandoned(now); got != test.want {
			t.Errorf("%s: abandoned %t", name, got)
		}
	}
}

// A Lease whose annotation cannot be parsed is an error, and does not count as free.
func TestALeaseThatIsNotOurs(t *testing.T) {
	s, client := newServer()
	s.put(&coordinationv1.Lease{})
	_, err := take(t, client, "run 1", demo)
	checkError(t, err, "read who holds the cluster, in the annotation holdfast.dev/holder of Lease holdfast/cluster: ")
}

// A process that was really killed is recognized as ended.
func TestAKilledProcess(t *testing.T) {
	if os.Getenv("HOLDFAST_TEST_HOLD") != "" {
		fmt.Println(process.Self())
		// Without a timer and with all goroutines blocked, Go's runtime would end the process at once. It ends with the test that began it.
		_, _ = io.Copy(io.Discard, os.Stdin)
		return
	}
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestAKilledProcess$")
	cmd.Env = append(os.Environ(), "HOLDFAST_TEST_HOLD=1")
	out, err := cmd.StdoutPipe()
	_, errIn := cmd.StdinPipe()
	if err := errors.Join(err, errIn); err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	who := seen{Holder: Holder{Process: process.Self()}, renewed: time.Now()}
	if _, err := out.Read(make([]byte, 64)); err != nil {
		t.Fatal(err)
	}
	who.PID = cmd.Process.Pid
	stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", who.PID))
	if err != nil {
		t.Skipf("this system has no /proc: %v", err)
	}
	who.Began = strings.Fields(string(stat[strings.LastIndex(string(stat), ")")+1:]))[19]
	if who.abandoned(time.Now()) {
		t.Error("abandoned while it lives")
	}
	if err := cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // it was killed
	if !who.abandoned(time.Now()) {
		t.Error("not abandoned after it was killed")
	}
}

// A nil Hold works: tests and providers of unshared clusters have none.
func TestNoHold(t *testing.T) {
	var h *Hold
	h.Unmark()
	h.Drop()
	if h.Err() != nil || h.Lost() != nil || errors.Join(h.Mark(context.Background(), "x"), h.Release(context.Background()), h.Leave(context.Background(), "x")) != nil {
		t.Error("a nil Hold does something")
	}
}

// elsewhere rewrites the Lease as if its holder ran on another machine.
func (s *server) elsewhere(t *testing.T) {
	t.Helper()
	s.kill(t, func(h *Holder) { h.Host, h.Machine = "laptop", "other" })
}

// A holder on another machine is believed to be gone only after it was silent in front of this process, whatever the clocks say.
func TestHealWaitsForASignOfLife(t *testing.T) {
	for name, skew := range map[string]time.Duration{"clocks agree": 0, "its clock is behind": -time.Hour, "its clock is ahead": time.Hour} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				s, client := newServer()
				first := mustTake(t, client, "run 1", demo)
				first.end()
				s.elsewhere(t)
				renew := func() {
					s.mu.Lock()
					defer s.mu.Unlock()
					l := s.lease.DeepCopy()
					l.Spec.RenewTime.Time = time.Now().Add(skew)
					s.put(l)
				}
				renew()
				stop := make(chan struct{})
				lives := time.NewTicker(renewEvery)
				go func() {
					for {
						select {
						case <-lives.C:
							renew()
						case <-stop:
							return
						}
					}
				}()
				waited := false
				healing := Options{Cluster: "demo", Heal: true, Waiting: func(Holder) { waited = true }}
				_, err := take(t, client, "heal", healing)
				checkError(t, err, "in use since", "by run 1 ")
				close(stop)
				lives.Stop()
				began := time.Now()
				heal := mustTake(t, client, "heal", healing)
				if took := time.Since(began); !waited || took < Silence || took > Silence+renewEvery {
					t.Errorf("taken after %s, waited %t", took, waited)
				}
				if err := heal.Release(t.Context()); err != nil {
					t.Error(err)
				}
			})
		})
	}
}

// Seize takes exactly what was seen: a holder that has renewed its Lease since is not taken for dead.
func TestSeizeTakesWhatWasSeen(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		w := NewWatch(client)
		sight, err := w.Look(t.Context())
		if err != nil || !sight.There || sight.Run != "run 1" {
			t.Fatalf("%v: %+v", err, sight)
		}
		time.Sleep(2 * renewEvery)
		synctest.Wait() // the renewal of this moment would race with what follows
		if _, err := Seize(t.Context(), client, sight, "healer", "healer", demo); err == nil {
			t.Error("a living run was taken for dead")
		}
		if sight, err = w.Look(t.Context()); err != nil || sight.Silent > renewEvery {
			t.Fatalf("%v: silent for %s", err, sight.Silent)
		}
		healer, err := Seize(t.Context(), client, sight, "healer a", "holdfast workload healer", demo)
		if err != nil {
			t.Fatal(err)
		}
		<-h.Lost()
		checkError(t, h.Err(), "cluster demo was taken over by healer a (holdfast workload healer; process ")
		if err := healer.LeaveHealed(t.Context(), "what run 1 had changed"); err != nil {
			t.Fatal(err)
		}
		_, err = take(t, client, "run 2", Options{Cluster: "staging", Foreign: true, Context: "staging"})
		checkError(t, err, "healer a (process ", "has undone in cluster staging what run 1 had changed: run 'holdfast heal --context staging' first")
		s.goAway(true)
		for range 3 {
			if _, err := w.Look(t.Context()); err == nil {
				t.Error("looked at a server that is away")
			}
			time.Sleep(time.Minute)
		}
		s.goAway(false)
		if sight, err = w.Look(t.Context()); err != nil || sight.Silent >= Silence {
			t.Errorf("%v: silent for %s although nobody could renew", err, sight.Silent)
		}
	})
}

// A run that was stopped for longer than the silence does not take a cluster back that was healed and released meanwhile.
func TestARunThatSleptHasLostTheCluster(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, client := newServer()
		h := mustTake(t, client, "run 1", demo)
		if err := h.Confirm(t.Context()); err != nil {
			t.Error(err)
		}
		wake := s.sleep() // the lid is closed
		time.Sleep(2 * Silence)
		s.change(func() { s.lease = nil }) // `holdfast heal` has taken the Lease, healed, and released it
		wake()
		checkError(t, h.Confirm(t.Context()), "confirm that cluster demo is still held: cluster demo was taken over and given back by another process while this one was silent")
		<-h.Lost()
		checkError(t, h.Confirm(t.Context()), "taken over and given back")
		if s.holder(t) != nil {
			t.Error("the Lease was recreated")
		}
		if err := h.Release(t.Context()); err != nil {
			t.Error(err)
		}
	})
}

// Rule 16: a namespace of somebody else's is neither used nor removed, and one that an administrator has made for holdfast stays.
func TestHome(t *testing.T) {
	ctx := t.Context()
	theirs := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "holdfast"}}
	client := fake.NewClientset(theirs)
	checkError(t, Home(ctx, client, "holdfast"), "namespace holdfast exists, and is not holdfast's")
	if removed, err := RemoveHome(ctx, client, "holdfast"); removed || err != nil {
		t.Errorf("somebody's: removed %t, %v", removed, err)
	}
	theirs.Labels = map[string]string{labelPartOf: partOf}
	client = fake.NewClientset(theirs)
	if err := Home(ctx, client, "holdfast"); err != nil {
		t.Errorf("an administrator's: %v", err)
	}
	if removed, err := RemoveHome(ctx, client, "holdfast"); removed || err != nil {
		t.Errorf("an administrator's: removed %t, %v", removed, err)
	}
	client = fake.NewClientset()
	for range 2 {
		if err := Home(ctx, client, "holdfast"); err != nil {
			t.Error(err)
		}
	}
	for _, want := range []bool{true, false} {
		if removed, err := RemoveHome(ctx, client, "holdfast"); removed != want || err != nil {
			t.Errorf("ours: removed %t, %v", removed, err)
		}
	}
	if _, err := client.CoreV1().Namespaces().Get(ctx, "holdfast", metav1.GetOptions{}); err == nil {
		t.Error("it is still there")
	}
}

// Only namespaces of holdfast's whose time has passed are deleted.
func TestRemoveExpired(t *testing.T) {
	now := time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC)
	namespace := func(name, expires string, ours bool) *corev1.Namespace {
		n := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name, Annotations: map[string]string{madeKey: "true"}, Labels: map[string]string{}}}
		if expires != "" {
			n.Annotations[ExpiresKey] = expires
		}
		if ours {
			n.Labels[labelPartOf] = partOf
		}
		return n
	}
	const past = "2020-01-01T00:00:00Z"
	labelled := namespace("holdfast-load-labelled", past, true) // by another client, and not made by holdfast
	delete(labelled.Annotations, madeKey)
	client := fake.NewClientset(namespace("holdfast-load-old", "2025-12-31T23:00:00Z", true), namespace("holdfast-load-new", "2026-01-01T00:00:01Z", true),
		namespace("holdfast-load-lasting", "", true), namespace("holdfast-load-theirs", past, false), namespace("holdfast-load-odd", "soon", true),
		namespace("payments", past, true), namespace("my-holdfast-load-x", past, true), namespace(Namespace, past, true), labelled)
	names, err := Expired(t.Context(), client, now)
	checkError(t, err, "namespace holdfast-load-odd: its annotation holdfast.dev/expires is no time")
	removed, err := RemoveExpired(t.Context(), client, now)
	checkError(t, err, "namespace holdfast-load-odd: ")
	if fmt.Sprint(names, removed) != "[holdfast-load-old] [holdfast-load-old]" {
		t.Errorf("found %q, removed %q", names, removed)
	}
	left, err := client.CoreV1().Namespaces().List(t.Context(), metav1.ListOptions{})
	if err != nil || len(left.Items) != 8 {
		t.Errorf("%v: %d are left", err, len(left.Items))
	}
}

// Rule 16, turned off: between the look at a namespace and its deletion, another client has put one of its own in its place. It is deleted if the request does
// not name the UID, and stays because it does.
func TestANamespaceOfAnotherOwnerInItsPlaceStays(t *testing.T) {
	for named, stays := range map[bool]bool{true: true, false: false} {
		c := clustertest.New("staging", clusters.Spec{})
		const at = "/api/v1/namespaces"
		made := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: "holdfast-load-x", UID: "ours", Labels: map[string]string{labelPartOf: partOf}, Annotations: Expiring(time.Now().Add(-time.Hour)),
		}}
		c.Put(at, made)
		config := c.Config()
		config.ContentType = "application/json" // in which the cluster in memory reads preconditions
		next := config.Transport
		config.Transport = transport(func(r *http.Request) (*http.Response, error) {
			if r.Method == http.MethodDelete {
				c.Forget(at + "/holdfast-load-x")
				c.Put(at, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "holdfast-load-x", UID: "theirs"}})
				if !named {
					r.Body, r.ContentLength = http.NoBody, 0
				}
			}
			return next.RoundTrip(r)
		})
		_, err := RemoveExpired(t.Context(), kubernetes.NewForConfigOrDie(config), time.Now())
		left, there := c.Get(at + "/holdfast-load-x").(*corev1.Namespace)
		if gone := !there || left.DeletionTimestamp != nil || left.Status.Phase == corev1.NamespaceTerminating; gone == stays || (err != nil) != stays {
			t.Errorf("named by its UID: %t: gone: %t, %v", named, gone, err)
		}
	}
}

// transport is a transport that is a function.
type transport func(*http.Request) (*http.Response, error)

func (f transport) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }
