package scenario

import (
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/workloads"
)

func beside() Spec {
	return Spec{
		Name: "scale/some", Claim: "it holds", Cluster: clusters.Spec{Zones: []string{"a"}, SimulatedNodes: 10},
		Simulated: &Simulated{Backend: workloads.Backend{Replicas: 20}, Pods: 1100}, Load: DefaultLoad,
		Faults: []fault.Fault{fault.Drain{}}, Promises: []invariant.Invariant{invariant.NoFailedRequests{}},
	}
}

func TestSimulatedIsFaultsTarget(t *testing.T) {
	s := beside()
	if err := s.Validate(); err != nil {
		t.Fatal(err)
	}
	all := s.Controllers()
	if len(all) != 2 || all[0].Name != SimulatedName || all[1].Name != "backend" {
		t.Errorf("controllers %+v: want the simulated one first, because faults are injected into it", all)
	}
	if fill := s.Simulated.Fill(); fill.Pods != 1080 || fill.Deployments() != 3 {
		t.Errorf("filled with %d pods in %d Deployments", fill.Pods, fill.Deployments())
	}
	nodes := func(n int) clusters.Spec {
		c := s.Cluster
		c.SimulatedNodes = n
		return c
	}
	larger := s.On(nodes(50), 5000)
	if larger.Cluster.SimulatedNodes != 50 || larger.Simulated.Pods != 5000 || s.Simulated.Pods != 1100 {
		t.Errorf("On: %d nodes, %d pods, and the original has %d", larger.Cluster.SimulatedNodes, larger.Simulated.Pods, s.Simulated.Pods)
	}
	if want := s.About + 3900*aboutPerPod; larger.About != want {
		t.Errorf("On: it takes about %s, want %s", larger.About, want)
	}
	if larger.Hold != 0 {
		t.Errorf("On: the fault lasts %s, and nothing has to be noticed", larger.Hold)
	}
	s.Hold = 25 * time.Second // of 5,000 nodes in a cluster, 1,666 are lost with a zone: 250 s of grace in place of 8 s, ten evictions a second, not three in all
	if held, want := s.On(nodes(5000), 0).Hold, 25*time.Second+242*time.Second+166600*time.Millisecond-3*time.Second; held != want {
		t.Errorf("of 5,000 nodes a zone is lost for %s, want %s", held, want)
	}
	stock := nodes(10) // its grace is 50 s in place of 8 s, it is checked each 5 s in place of 1 s, and pods stay for 300 s in place of 5 s
	stock.Profile = clusters.Stock
	once := s.On(stock, 0)
	if held, want := once.Hold, 25*time.Second+50*time.Second+295*time.Second; held != want {
		t.Errorf("with stock timings a zone is lost for %s, want %s", held, want)
	}
	if twice := once.On(stock, 0); twice.Hold != once.Hold || twice.About != once.About {
		t.Errorf("adapted twice, the fault lasts %s in place of %s", twice.Hold, once.Hold)
	}
}

// Nothing runs on a simulated node. What would be judged there all the same is refused.
func TestSimulatedRefusals(t *testing.T) {
	for want, spoil := range map[string]func(*Spec){
		"simulated nodes, and no workload on them":                                                         func(s *Spec) { s.Simulated = nil },
		"and its cluster has none":                                                                         func(s *Spec) { s.Cluster.SimulatedNodes = 0 },
		"where nothing answers a request, and takes the load":                                              func(s *Spec) { s.Backend.Simulated = true },
		"where nothing answers a request: say so in Simulated":                                             func(s *Spec) { s.Simulated, s.Cluster.SimulatedNodes, s.Backend.Simulated = nil, 0, true },
		"there are no trials, pinned pods or applications":                                                 func(s *Spec) { s.PinTo = 1 },
		"19 pods on simulated nodes: want from 20":                                                         func(s *Spec) { s.Simulated.Pods = 19 },
		"2501 pods on simulated nodes: want from 20, which the workload has, to 2500, which 10 nodes take": func(s *Spec) { s.Simulated.Pods = 2501 },
		"simulated nodes are in the zones":                                                                 func(s *Spec) { s.Cluster.Zones = []string{"sim-a"} },
		"simulated nodes 10001: want a number from 0 to 10000":                                             func(s *Spec) { s.Cluster.SimulatedNodes = 10001 },
	} {
		s := beside()
		spoil(&s)
		if err := s.Validate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v, want %q", err, want)
		}
	}
}
