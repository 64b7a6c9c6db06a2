package fault

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// council is three control planes with their members of etcd and their API servers, and the probe that asks these.
type council struct {
	world   *world
	leader  string
	changes int
	away    time.Duration // so long does no API server answer once the leader is gone
	balance time.Duration // and so long does the balancer not notice
	back    time.Duration // so long is a member away whose process was killed

	lost    time.Time     // when the leader went
	killed  string        // the member whose process was killed
	deposed string        // who led before
	begun   time.Time     // of the probe
	stopped time.Time     // of the probe
	early   time.Duration // so long does the probe last by itself; 0: until it is told to stop
	ways    []string
	removed bool
	broken  string // the command that fails, by its first word or the name that it is given
}

// threePlanes is a world with cp1, whose member of etcd leads, cp2, cp3, the load node and three workers.
func threePlanes(t *testing.T) (*world, Target) {
	w, _ := newCouncil(t, "cp1", "cp2", "cp3")
	return w, w.target()
}

func newCouncil(t *testing.T, planes ...string) (*world, *council) {
	t.Helper()
	w := newWorld(6, append(slices.Clone(planes), "load", "w1", "w2", "w3")...)
	c := &council{world: w, leader: planes[0], changes: 1, away: 1500 * time.Millisecond, balance: 5 * time.Second, back: 4 * time.Second}
	nodes := corev1.SchemeGroupVersion.WithResource("nodes")
	for i, n := range w.nodes {
		m := n.(*machine)
		switch {
		case slices.Contains(planes, m.name):
			m.role, m.exec = clusters.ControlPlane, c.plane
		case m.name == "load":
			m.role, m.exec = clusters.LoadNode, c.load
		}
		o, err := w.client.Tracker().Get(nodes, "", m.name)
		must(t, err)
		node := o.(*corev1.Node).DeepCopy()
		node.Status.Addresses = []corev1.NodeAddress{{Type: corev1.NodeInternalIP, Address: "fd00::1"},
			{Type: corev1.NodeInternalIP, Address: fmt.Sprintf("10.0.0.%d", i+1)}}
		must(t, w.client.Tracker().Update(nodes, node, ""))
	}
	return w, c
}

var errRefused = errors.New("connection refused")

// plane answers the commands on a control plane.
func (c *council) plane(m *machine, command []string) ([]byte, error) {
	c.elect()
	switch state, err := m.State(context.Background()); {
	case err != nil:
		return nil, err
	case state != clusters.Running:
		return nil, errors.New("container is not running")
	}
	down := c.killed == m.name && time.Since(c.lost) < c.back
	switch {
	case c.broken == command[0]:
		return nil, errRefused
	case command[0] == "curl" && down:
		return nil, errRefused
	case command[0] == "curl":
		leads, has := 0, 1
		if m.name == c.leader {
			leads = 1
		}
		if c.leader == "" {
			has = 0
		}
		return fmt.Appendf(nil, "# HELP etcd_server_is_leader 1 if it leads\netcd_server_has_leader %d\netcd_server_is_leader %d\n"+
			"etcd_server_leader_changes_seen_total %d\n", has, leads, c.changes), nil
	case command[0] == "pkill" && !c.world.deaf:
		c.lost, c.killed, c.deposed, c.leader = time.Now(), m.name, m.name, ""
	case command[len(command)-1] == "ready" && down:
		return []byte("[-]etcd failed"), nil
	case command[len(command)-1] == "ready":
		return []byte("ok"), nil
	}
	return nil, nil
}

// elect notices that the leader is gone, and has the others elect one of them when it is time.
func (c *council) elect() {
	alive := func(n clusters.Node) bool { return n.(*machine).state == clusters.Running }
	for _, n := range c.world.nodes {
		if n.Name() == c.leader && !alive(n) {
			c.lost, c.deposed, c.leader = time.Now(), c.leader, ""
		}
	}
	if c.leader != "" || c.lost.IsZero() || time.Since(c.lost) < c.away {
		return
	}
	planes := c.world.target().controlPlanes()
	living := slices.DeleteFunc(slices.Clone(planes), func(n clusters.Node) bool { return !alive(n) || n.Name() == c.deposed })
	if len(living) > 0 && 2*(len(living)) > len(planes) {
		c.leader = living[0].Name()
		c.changes++
	}
}

// load answers the commands on the load node.
func (c *council) load(_ *machine, command []string) ([]byte, error) {
	c.elect()
	what := command[0]
	if len(command) > 3 {
		what = command[3]
	}
	switch {
	case c.broken == what:
		return nil, errRefused
	case what == "where":
		return []byte("lb:6443\n"), nil
	case what == "reach":
		c.begun, c.ways = time.Now(), command[10:]
	case what == "touch":
		c.stopped = time.Now()
	case what == "rm":
		c.removed = true
	case what == "cat":
		return []byte(c.log()), nil
	}
	return nil, nil
}

// log is what the probe has printed so far: an answer of each way every 200 ms.
func (c *council) log() string {
	var text strings.Builder
	end, last := time.Now(), ""
	switch {
	case c.early > 0 && end.Sub(c.begun) > c.early:
		end, last = c.begun.Add(c.early), "end of its time\n"
	case !c.stopped.IsZero():
		end, last = c.stopped, "end asked to\n"
	}
	for at := c.begun; at.Before(end); at = at.Add(200 * time.Millisecond) {
		for _, way := range c.ways {
			name, _, _ := strings.Cut(way, "=")
			since := at.Sub(c.lost)
			status := 200
			if name != "control" && !c.lost.IsZero() && since >= 0 && (since < c.away || name == "balanced" && since < c.balance && int(since/(200*time.Millisecond))%3 == 0) {
				status = 0
			}
			fmt.Fprintf(&text, "%s %d %d %03d\n", name, at.UnixMicro(), at.Add(20*time.Millisecond).UnixMicro(), status)
		}
	}
	return text.String() + last + "cp2 17" // a line that is half written
}

func TestControlPlaneKillTakesTheLeader(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newCouncil(t, "cp1", "cp2", "cp3")
		heal, err := inject(t.Context(), ControlPlaneKill{}, w.target())
		must(t, err)
		if diff := cmp.Diff([]string{"nodes=[cp1] pods=0 the engine says cp1 has exited, and its kubelet port is silent"}, w.seen); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
		c.elect()
		time.Sleep(20 * time.Second)
		must(t, heal(t.Context()))
		must(t, heal(t.Context()))
		if got := w.states(); slices.Contains(got, clusters.Exited) {
			t.Errorf("states after the undo: %v", got)
		}
		if len(w.reached) != 4 || w.reached[2].Failed == 0 || w.reached[2].Longest < c.away || w.reached[1].Failing < 2*c.away ||
			w.reached[0].Way != history.Control || w.reached[0].Host != "load" || w.reached[0].Failed > 0 {
			t.Errorf("reached: %+v", w.reached) // a fake machine is back at once, so nothing is told of its return
		}
		if want := []string{"control=http://127.0.0.1:10248/healthz", "balanced=https://lb:6443/api/v1/nodes/load",
			"cp2=https://10.0.0.2:6443/api/v1/nodes/load", "cp3=https://10.0.0.3:6443/api/v1/nodes/load"}; !slices.Equal(c.ways, want) || !c.removed {
			t.Errorf("asked by %v, want %v; the folder is removed: %t", c.ways, want, c.removed)
		}
	})
}

func TestEtcdLeaderKillSeesAnotherLead(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newCouncil(t, "cp1", "cp2", "cp3")
		heal, err := inject(t.Context(), EtcdLeaderKill{}, w.target())
		must(t, err)
		if diff := cmp.Diff([]string{"nodes=[cp1] pods=0 etcd on cp2: leads: true, leaders seen: 2, before: 1"}, w.seen); diff != "" {
			t.Errorf("seen (-want +got):\n%s", diff)
		}
		time.Sleep(time.Second)
		must(t, heal(t.Context()))
		if diff := cmp.Diff([]string{"3 members of etcd have a leader, and their API servers are ready"}, w.healed); diff != "" {
			t.Errorf("healed (-want +got):\n%s", diff)
		}
		if took := time.Since(c.lost); took < c.back {
			t.Errorf("healed %s after the kill, and the member is back after %s", took, c.back)
		}
		// Way by way until the undo began, and, as the member needs some seconds to be back, from then on.
		if len(w.reached) != 8 || w.reached[6].Host != "cp3" || w.reached[6].Returning || w.reached[6].Longest < c.away ||
			!w.reached[7].Returning || w.reached[7].Failed > 0 {
			t.Errorf("reached: %+v", w.reached)
		}
	})
}

// TestControlPlaneFaultsSayWhatIsMissing: and end the probe, if there is one.
func TestControlPlaneFaultsSayWhatIsMissing(t *testing.T) {
	for name, s := range map[string]struct {
		fault  Fault
		planes []string
		change func(w *world, c *council)
		want   string
	}{
		"one control plane": {ControlPlaneKill{}, []string{"cp1"}, nil, "find etcd's leader: fleet has 1 control plane, and several are needed"},
		"nobody leads": {ControlPlaneKill{}, nil, func(_ *world, c *council) { c.leader = "" },
			"find etcd's leader: none of cp1, cp2, cp3 leads"},
		"etcd does not answer": {EtcdLeaderKill{}, nil, func(_ *world, c *council) { c.broken = "curl" },
			"find etcd's leader: ask etcd on cp1: connection refused"},
		"no load node": {ControlPlaneKill{}, nil, func(w *world, _ *council) { w.nodes[3].(*machine).role = clusters.Worker },
			"ask the API server of fleet: it has no node that no fault touches"},
		"no way": {ControlPlaneKill{}, nil, func(_ *world, c *council) { c.broken = "where" },
			"find the way to the API server of fleet: connection refused"},
		"a probe that does not start": {EtcdLeaderKill{}, nil, func(_ *world, c *council) { c.broken = "reach" },
			"ask the API server from load: connection refused"},
		"an API server that is away already": {ControlPlaneKill{}, nil, func(_ *world, c *council) {
			c.lost, c.away = time.Now(), time.Hour
		}, "waited 1m0s for the API server to be asked from load: last seen control: "},
		"no process": {EtcdLeaderKill{}, nil, func(_ *world, c *council) { c.broken = "pkill" },
			"kill etcd's leader on cp1: connection refused"},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				planes := s.planes
				if planes == nil {
					planes = []string{"cp1", "cp2", "cp3"}
				}
				w, c := newCouncil(t, planes...)
				if s.change != nil {
					s.change(w, c)
				}
				heal, err := inject(t.Context(), s.fault, w.target())
				if err == nil || !strings.HasPrefix(err.Error(), s.want) || heal == nil || len(w.seen) != 0 {
					t.Fatalf("got %v, seen %q; want %s", err, w.seen, s.want)
				}
				_ = heal(t.Context())
				if !c.begun.IsZero() && c.stopped.IsZero() {
					t.Error("the probe goes on")
				}
			})
		})
	}
}

// A probe that ended by itself has not seen all of the fault, and that is said.
func TestAProbeThatEndsTooEarly(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w, c := newCouncil(t, "cp1", "cp2", "cp3")
		c.early = 10 * time.Second
		heal, err := inject(t.Context(), ControlPlaneKill{}, w.target())
		must(t, err)
		time.Sleep(20 * time.Second)
		err = heal(t.Context())
		const want = "see how the API server was reached: the probe of the API server ended before the fault did: end of its time"
		if err == nil || err.Error() != want || len(w.reached) != 4 {
			t.Errorf("got %v, %d ways; want %s", err, len(w.reached), want)
		}
	})
}

func TestParseEtcd(t *testing.T) {
	const whole = "etcd_server_has_leader 1\netcd_server_is_leader 0\netcd_server_leader_changes_seen_total 1.2e+01\n"
	m, err := parseEtcd(whole)
	if want := (etcdMember{hasLeader: true, changes: 12}); err != nil || m != want {
		t.Errorf("got %+v, %v", m, err)
	}
	for _, bad := range []string{"", strings.Replace(whole, "is_leader 0", "is_leader x", 1), strings.Replace(whole, "has_leader", "had", 1)} {
		if _, err := parseEtcd(bad); err == nil {
			t.Errorf("%q was read", bad)
		}
	}
}
