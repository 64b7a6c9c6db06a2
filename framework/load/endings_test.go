package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"sync/atomic"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// clusterIP is a TCP proxy that behaves like a Service: a connection leads to the pod that was the endpoint when it was made,
// for as long as both live.
type clusterIP struct {
	net.Listener
	to       atomic.Pointer[string]
	dialling atomic.Int64
}

func newClusterIP(t *testing.T) *clusterIP {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = l.Close() })
	s := &clusterIP{Listener: l}
	go func() {
		for {
			c, err := l.Accept()
			if err != nil {
				return
			}
			go s.carry(c)
		}
	}()
	return s
}

func (s *clusterIP) carry(c net.Conn) {
	s.dialling.Add(1)
	there, err := net.Dial("tcp", *s.to.Load())
	s.dialling.Add(-1)
	if err != nil {
		_ = c.Close()
		return
	}
	go func() {
		_, _ = io.Copy(there, c)
		_ = there.(*net.TCPConn).CloseWrite()
	}()
	_, _ = io.Copy(c, there)
	_ = c.Close()
}

// startPod runs a backend, and makes it the only endpoint of the Service.
func (s *clusterIP) startPod(t *testing.T, name string, end serve.AtTerm) (term func(), ended <-chan error) {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	address := l.Addr().String()
	_ = l.Close()
	ctx, term := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() {
		result <- backend.Run(ctx, backend.Options{
			Listen: address, Pod: name, Serve: serve.Options{AtTerm: end, Quiet: time.Second, Limit: 10 * time.Second},
		}, Servers()...)
	}()
	err = poll.Until(t.Context(), name+" to listen", time.Minute, func(context.Context) (bool, string, error) {
		c, err := net.Dial("tcp", address)
		if err == nil {
			_ = c.Close()
		}
		return err == nil, "", err
	})
	if err != nil {
		t.Fatal(err)
	}
	if old := s.to.Swap(&address); old != nil {
		s.settle(t, *old)
	}
	return term, result
}

// settle returns when the old pod gets no more connections, and has accepted those it got. That is what a preStop sleep is for.
func (s *clusterIP) settle(t *testing.T, old string) {
	t.Helper()
	last := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}} // its connection is accepted after all earlier ones
	err := poll.Until(t.Context(), "connections to be accepted", time.Minute, func(ctx context.Context) (bool, string, error) {
		if s.dialling.Load() > 0 {
			return false, "dials", nil
		}
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+old+serve.HealthPath, nil)
		if err != nil {
			return false, "", err
		}
		answer, err := last.Do(r)
		if err != nil {
			return false, "", err
		}
		return true, "", answer.Body.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
}

// replaced plays a lane while its pod is replaced twice, and returns the rows.
func replaced(t *testing.T, lane history.Lane, end serve.AtTerm) []history.Request {
	t.Helper()
	s := newClusterIP(t)
	term, ended := s.startPod(t, "pod-0", end)
	a := prepare(t, Plan{ID: "p", Lanes: []Lane{
		{Lane: lane, Target: "http://" + s.Addr().String() + "/", Rate: 100, Connections: 3, Timeouts: roomy},
	}}, nil, 0)
	go a.play()
	for n := 1; n <= 2; n++ {
		until(t, a, uint64(n*40)) // until the pod has answered some requests
		oldTerm, oldEnded := term, ended
		term, ended = s.startPod(t, fmt.Sprint("pod-", n), end)
		oldTerm()
		if err := <-oldEnded; err != nil {
			t.Errorf("pod-%d ended with %v", n-1, err)
		}
	}
	until(t, a, a.Status()[0].Sent+40)
	a.Stop(a.now())
	<-a.finished
	term()
	if err := <-ended; err != nil {
		t.Error(err)
	}
	return a.check(t)
}

func until(t *testing.T, a *playing, sent uint64) {
	t.Helper()
	err := poll.Until(t.Context(), "requests to be sent", time.Minute, func(context.Context) (bool, string, error) {
		n := a.Status()[0].Sent
		return n >= sent, fmt.Sprint(n), nil
	})
	if err != nil {
		t.Fatal(err)
	}
}

// A server that drains loses no request on any lane: each client is asked to leave, and reconnects to the next pod.
func TestOrderlyEndsAreNoFailures(t *testing.T) {
	for _, lane := range append(LaneNames(), LaneH2CFresh) {
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			pods, conns := map[string]int{}, map[uint64]bool{}
			for _, r := range replaced(t, lane, serve.Drain) {
				if r.Outcome == history.Unsent { // on a very busy machine
					continue
				}
				if r.Outcome != history.OK {
					t.Errorf("%+v", r)
				}
				pods[r.Pod]++
				conns[r.Conn] = true
			}
			// On a busy machine, the second pod may come and go without a request.
			if pods["pod-0"] == 0 || pods["pod-2"] == 0 || len(conns) < 2 {
				t.Errorf("requests reached %v, on %d connections, want the first and the last pod", pods, len(conns))
			}
		})
	}
}

// A server that drops its connections is caught on every lane that keeps connections.
func TestDroppedConnectionsAreFailures(t *testing.T) {
	for _, lane := range LaneNames() {
		if lane == history.LaneFresh {
			continue
		}
		t.Run(string(lane), func(t *testing.T) {
			t.Parallel()
			failed := 0
			for _, r := range replaced(t, lane, serve.Drop) {
				if r.Outcome.Failed() {
					failed++
				}
			}
			if failed == 0 {
				t.Error("no request failed")
			}
		})
	}
}
