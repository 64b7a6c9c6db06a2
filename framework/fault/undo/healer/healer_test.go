package healer

import (
	"context"
	"errors"
	"net/http"
	"path"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	"github.com/holdfast-ha/holdfast/framework/fault/undo"
)

// network is the way of one process to the API server. It can be cut and mended.
type network struct {
	next http.RoundTripper

	mu  sync.Mutex
	cut bool
}

func (n *network) RoundTrip(r *http.Request) (*http.Response, error) {
	n.mu.Lock()
	cut := n.cut
	n.mu.Unlock()
	if cut {
		return nil, errors.New("no route to host")
	}
	return n.next.RoundTrip(r)
}

func (n *network) set(cut bool) {
	n.mu.Lock()
	defer n.mu.Unlock()
	n.cut = cut
}

// place is a cluster in memory, with a run on it and healers in it.
type place struct {
	*clustertest.Cluster
	t *testing.T
}

func newPlace(t *testing.T) *place {
	c := clustertest.New("demo", clusters.Spec{Zones: []string{"a", "b"}})
	c.Owners = true
	p := &place{Cluster: c, t: t}
	if err := c.Register(t.Context()); err != nil {
		t.Fatal(err)
	}
	return p
}

func (p *place) clients(through http.RoundTripper) (kubernetes.Interface, dynamic.Interface) {
	config := p.Config()
	if through != nil {
		config.Transport = through
	}
	return kubernetes.NewForConfigOrDie(config), dynamic.NewForConfigOrDie(config)
}

// run is a run of another machine that holds the cluster and has cordoned wa1.
func (p *place) run(through http.RoundTripper, lasts time.Duration) (*hold.Hold, *undo.Changes) {
	p.t.Helper()
	client, untyped := p.clients(through)
	held, err := hold.Take(p.t.Context(), client, "run-1", "holdfast test", hold.Options{Cluster: "demo", Foreign: true})
	if err != nil {
		p.t.Fatal(err)
	}
	changes := &undo.Changes{Run: "run-1", Dynamic: untyped, Hold: held, Lasts: lasts}
	if err := changes.Do(p.t.Context(), undo.Cordon(undo.Node("wa1"))); err != nil {
		p.t.Fatal(err)
	}
	return held, changes
}

// nodes are the permissions of a healer of nodes.
var nodes = []existing.Permission{{Verb: "get", Resource: "nodes"}, {Verb: "list", Resource: "nodes"}, {Verb: "patch", Resource: "nodes"}}

// healer starts a replica, and returns what ends it.
func (p *place) healer(name string, through http.RoundTripper) (stop func()) {
	ctx, cancel := context.WithCancel(context.Background())
	client, untyped := p.clients(through)
	over := make(chan struct{})
	go func() {
		defer close(over)
		if err := Run(ctx, Options{Name: name, Client: client, Dynamic: untyped, May: nodes}); err != nil {
			p.t.Error(err)
		}
	}()
	return func() {
		cancel()
		<-over
	}
}

func (p *place) cordoned() bool { return p.Get("/api/v1/nodes/wa1").(*corev1.Node).Spec.Unschedulable }

// opens waits until wa1 is uncordoned, and returns how long that took. Zero: it was not within the limit.
func (p *place) opens(limit time.Duration) time.Duration {
	began := time.Now()
	for time.Since(began) < limit {
		if !p.cordoned() {
			return time.Since(began)
		}
		time.Sleep(100 * time.Millisecond)
	}
	return 0
}

func (p *place) between(what string, took, least, most time.Duration) {
	p.t.Helper()
	if took < least || took > most {
		p.t.Errorf("%s: undone after %s, want %s to %s", what, took, least, most)
	}
}

// TestARunThatIsGoneIsUndone: after 30 s of silence, and not while the run lives.
func TestARunThatIsGoneIsUndone(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		lid := &network{next: p.Config().Transport}
		held, _ := p.run(lid, 0)
		stop := p.healer("a", nil)
		defer stop()
		time.Sleep(5 * time.Minute)
		if !p.cordoned() {
			t.Error("undone while the run lives")
		}
		lid.set(true)
		p.between("a lid was closed", p.opens(time.Minute), 25*time.Second, 40*time.Second)
		lid.set(false)
		<-held.Lost()
		if err := held.Err(); err == nil || !strings.Contains(err.Error(), "healer a") {
			t.Errorf("the run is told %v", err)
		}
		if n := p.Get("/api/v1/nodes/wa1"); n.GetAnnotations()[undo.Annotation] != "" {
			t.Error("the note is left")
		}
		held.Drop()
	})
}

// TestTheDeadlineIsKept although the run lives, by whatever clock. A clock of the run's that jumps does not matter.
func TestTheDeadlineIsKept(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		held, changes := p.run(nil, 2*time.Minute)
		stop := p.healer("a", nil)
		defer stop()
		p.between("at the deadline", p.opens(5*time.Minute), 2*time.Minute-Every, 2*time.Minute+2*Every)
		<-held.Lost()
		err := changes.Do(t.Context(), undo.Cordon(undo.Node("wb1")))
		if err == nil || !strings.Contains(err.Error(), "healer a") || p.Get("/api/v1/nodes/wb1").(*corev1.Node).Spec.Unschedulable {
			t.Errorf("the run may go on: %v", err)
		}
		held.Drop()
	})
}

// TestWhoAsksIsObeyed: by an annotation, also if the healer that was asked is killed right after, and by HTTP.
func TestWhoAsksIsObeyed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		held, _ := p.run(nil, 0)
		stop := p.healer("a", nil)
		defer stop()
		client, _ := p.clients(nil)
		time.Sleep(time.Minute)
		if err := hold.AskToStop(t.Context(), client, "customers complain"); err != nil {
			t.Fatal(err)
		}
		p.between("when asked", p.opens(time.Minute), 0, 2*Every)
		held.Drop()
	})
}

// TestAHealerThatIsKilledIsReplaced: of two, in the middle of its work.
func TestAHealerThatIsKilledIsReplaced(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		lid := &network{next: p.Config().Transport}
		held, _ := p.run(lid, 0)
		nodes := &onNodes{next: p.Config().Transport} // healer a cannot patch nodes, and dies trying
		node := &network{next: nodes}
		nodes.then = func() { node.set(true) }
		stopA := p.healer("a", node)
		time.Sleep(10 * time.Second)
		lid.set(true)
		time.Sleep(hold.Silence)
		stopB := p.healer("b", nil)
		took := p.opens(2 * time.Minute)
		p.between("healer a is killed while it heals", took, 25*time.Second, 75*time.Second)
		if !nodes.killed() {
			t.Error("healer a was not killed: nothing was tried")
		}
		stopA()
		stopB()
		held.Drop()
	})
}

// onNodes lets a process lose its network with its first patch of a node.
type onNodes struct {
	next http.RoundTripper
	then func() // called once

	mu   sync.Mutex
	died bool
}

func (o *onNodes) killed() bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.died
}

func (o *onNodes) RoundTrip(r *http.Request) (*http.Response, error) {
	if r.Method == http.MethodPatch && strings.Contains(r.URL.Path, "/nodes/") {
		o.mu.Lock()
		first := !o.died
		o.died = true
		o.mu.Unlock()
		if first {
			o.then()
		}
		return nil, errors.New("killed")
	}
	return o.next.RoundTrip(r)
}

// TestAnAPIServerThatWasAwayIsNoSilence: neither the run nor the healer could reach it.
func TestAnAPIServerThatWasAwayIsNoSilence(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		server := &network{next: p.Config().Transport}
		held, changes := p.run(server, 0)
		stop := p.healer("a", server)
		defer stop()
		for range 5 {
			time.Sleep(10 * time.Second)
			server.set(true)
			time.Sleep(2 * time.Minute)
			server.set(false)
		}
		time.Sleep(time.Minute)
		if !p.cordoned() || held.Err() != nil {
			t.Errorf("healed although the run lives: %v", held.Err())
		}
		_, err := changes.Undo(t.Context())
		if err := errors.Join(err, held.Release(t.Context())); err != nil || p.cordoned() {
			t.Errorf("the run's own undo: %v", err)
		}
	})
}

// TestTheAPIServerIsAwayDuringTheUndo: it is tried again until it succeeds.
func TestTheAPIServerIsAwayDuringTheUndo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		lid := &network{next: p.Config().Transport}
		held, _ := p.run(lid, 0)
		server := &network{next: p.Config().Transport}
		nodes := &onNodes{next: server}
		nodes.then = func() { server.set(true) }
		stop := p.healer("a", nodes)
		defer stop()
		lid.set(true)
		time.Sleep(10 * time.Minute) // the limit of one undo has passed several times
		if !nodes.killed() || !p.cordoned() {
			t.Error("nothing was tried")
		}
		server.set(false)
		healed := &network{next: p.Config().Transport}
		stop2 := p.healer("b", healed)
		defer stop2()
		p.between("when it is back", p.opens(5*time.Minute), 0, 4*time.Minute)
		held.Drop()
	})
}

// TestAHealInProgressIsNotDisturbed: neither by a deadline nor by silence of the run while somebody else heals.
func TestAHealInProgressIsNotDisturbed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		lid := &network{next: p.Config().Transport}
		run, _ := p.run(lid, time.Minute)
		lid.set(true)
		run.Drop()
		client, _ := p.clients(nil)
		held, err := hold.Seize(t.Context(), client, mustLook(t, client), "heal", "holdfast heal", hold.Options{Cluster: "demo"})
		if err != nil {
			t.Fatal(err)
		}
		stop := p.healer("a", nil)
		defer stop()
		time.Sleep(10 * time.Minute)
		if !p.cordoned() || held.Err() != nil {
			t.Errorf("the healer interfered: %v", held.Err())
		}
		held.Drop()
		p.between("when that heal is gone", p.opens(time.Minute), 25*time.Second, 40*time.Second)
	})
}

func mustLook(t *testing.T, client kubernetes.Interface) hold.Sight {
	t.Helper()
	s, err := hold.NewWatch(client).Look(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return s
}

// A Lease that another client has broken does not keep the healer from undoing what the run has left: its silence counts as that of any other.
func TestABrokenLeaseIsASilentOne(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlace(t)
		held, _ := p.run(nil, 0)
		held.Drop()
		const at = "/apis/coordination.k8s.io/v1/namespaces/holdfast/leases/cluster"
		lease := p.Get(at).(*coordinationv1.Lease).DeepCopy()
		lease.Annotations["holdfast.dev/holder"] = "{"
		p.Put(path.Dir(at), lease)
		defer p.healer("a", nil)()
		p.between("with a broken Lease", p.opens(5*time.Minute), hold.Silence, hold.Silence+10*time.Second)
	})
}
