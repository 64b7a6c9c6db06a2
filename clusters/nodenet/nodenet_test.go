package nodenet

import (
	"context"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

// The agent works from the last known nodes, notices the no-egress file within a second, and syncs every half minute.
func TestKeep(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at := testPaths(t)
		write(t, at.kubeadm, "podSubnet: 10.244.0.0/16\nserviceSubnet: 10.96.0.0/16\n")
		if err := remember(at.state, two); err != nil {
			t.Fatal(err)
		}
		m := &machine{}
		ctx, cancel := context.WithCancel(t.Context())
		over := make(chan struct{})
		a := &agent{self: "a", paths: at, run: m.run, mtu: func() int { return 1500 }}
		go func() { defer close(over); a.keep(ctx) }()
		asked := func(after time.Duration) string { // since the last time
			time.Sleep(after)
			synctest.Wait()
			defer m.forget()
			return m.said()
		}
		if got := asked(lookEvery / 2); !strings.Contains(got, "route replace 10.244.1.0/24 via 10.89.0.3") {
			t.Errorf("after its start: %q", got)
		}
		write(t, at.noEgress, "")
		if got := asked(lookEvery); !strings.Contains(got, "ip -4 route show default") {
			t.Errorf("after the file was made: %q", got)
		}
		if got := asked(syncEvery - 2*lookEvery); got != "" {
			t.Errorf("in between: %q", got)
		}
		if got := asked(3 * lookEvery); got == "" {
			t.Error("no sync after syncEvery")
		}
		cancel()
		<-over
	})
}

func TestLearn(t *testing.T) {
	at := testPaths(t)
	write(t, at.kubeadm, "podSubnet: 10.244.0.0/16\nserviceSubnet: 10.96.0.0/16\n")
	m := &machine{}
	a := &agent{self: "a", paths: at, run: m.run, mtu: func() int { return 1500 }, egress: true}
	a.learn(t.Context(), two)
	if diff := cmp.Diff(two, recall(at.state)); diff != "" || m.said() == "" {
		t.Errorf("remembered (-want +got):\n%s\nasked %q", diff, m.said())
	}
	m.forget()
	a.learn(t.Context(), two)
	if got := m.said(); got != "" {
		t.Errorf("nothing new, and yet: %q", got)
	}
}
