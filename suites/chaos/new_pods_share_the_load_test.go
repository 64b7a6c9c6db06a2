package chaos_test

import (
	"math"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/fault"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/chaos"
)

// sharing holds the numbers of a scenario that promises SharesLoad.
type sharing struct {
	promise  invariant.SharesLoad
	old, all int           // pods
	rate     float64       // requests a second
	counts   time.Duration // the least time in which shares count: the hold begins when the last new pod is ready
	life     time.Duration // of a connection
	carries  float64       // requests per connection
}

func sharingOf(t *testing.T, s scenario.Spec) sharing {
	t.Helper()
	promise, ok := s.Promises[0].(invariant.SharesLoad)
	scale, scales := s.Faults[0].(fault.Scale)
	if !ok || !scales || s.Load[0].Connections != 0 || s.Load[0].MaxConnections != load.DefaultConnections {
		t.Fatalf("%s is not what this test is about", s.Name)
	}
	carries := float64(s.Backend.CloseAfter)
	return sharing{
		promise: promise, old: int(s.Backend.Replicas), all: scale.Through[0], rate: s.Load[0].Rate, carries: carries,
		counts: s.Hold - promise.Within,
		life:   time.Duration(carries * load.DefaultConnections / s.Load[0].Rate * float64(time.Second)),
	}
}

// below is the probability that fewer than share*n*p of n connections reach a pod that gets each with probability p.
func below(n int, p, share float64) (sum float64) {
	log := func(n int) float64 { l, _ := math.Lgamma(float64(n) + 1); return l }
	for k := 0; float64(k) < share*p*float64(n); k++ {
		sum += math.Exp(log(n) - log(k) - log(n-k) + float64(k)*math.Log(p) + float64(n-k)*math.Log1p(-p))
	}
	return sum
}

// oldIsGone checks that no connection from before the scaling is left when shares begin to count. Proxies learn of a new pod up
// to 5 s late on a busy machine, and until then open connections to old pods only.
func (s sharing) oldIsGone(t *testing.T) {
	t.Helper()
	if left := s.promise.Within - s.life; left < 5*time.Second {
		t.Errorf("connections live for %s, and count from %s on", s.life, s.promise.Within)
	}
}

// TestNewPodsShareByMoreThanLuck: if the Service picks pods at random, the promise fails by chance in at most one of a million
// runs.
func TestNewPodsShareByMoreThanLuck(t *testing.T) {
	s := sharingOf(t, chaos.NewPodsShareTheLoad)
	dealt := int(s.rate * s.counts.Seconds() / s.carries)
	if chance := float64(s.all) * below(dealt, 1/float64(s.all), s.promise.AtLeast); chance > 1e-6 {
		t.Errorf("%d connections leave one of %d pods short with a probability of %v", dealt, s.all, chance)
	}
	s.oldIsGone(t)
}

// TestNewPodsShareLateByMoreThanLuck: the open connections are enough for the new pods together, but far too few for each
// single pod. Otherwise the scenario should claim more.
func TestNewPodsShareLateByMoreThanLuck(t *testing.T) {
	s := sharingOf(t, chaos.NewPodsShareTheLoadLate)
	newcomers := float64(s.all-s.old) / float64(s.all)
	if chance := below(load.DefaultConnections, newcomers, s.promise.AtLeast); chance > 1e-6 {
		t.Errorf("%d connections leave the new pods short with a probability of %v", load.DefaultConnections, chance)
	}
	if chance := below(load.DefaultConnections, 1/float64(s.all), s.promise.AtLeast); chance < 0.01 {
		t.Errorf("a new pod is left short with a probability of only %v", chance)
	}
	s.oldIsGone(t)
}
