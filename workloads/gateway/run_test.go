package gateway

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// slice is an EndpointSlice of a service. An endpoint "ip" is ready, "!ip" is not ready, and "?ip" has no ready condition.
func slice(name, service string, port int32, endpoints ...string) *discoveryv1.EndpointSlice {
	s := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Namespace: "ns", Name: name, Labels: map[string]string{discoveryv1.LabelServiceName: service}},
		AddressType: discoveryv1.AddressTypeIPv4, Ports: []discoveryv1.EndpointPort{{Port: &port}},
	}
	for _, e := range endpoints {
		ready := !strings.HasPrefix(e, "!")
		endpoint := discoveryv1.Endpoint{Addresses: []string{strings.TrimLeft(e, "!?")}}
		if !strings.HasPrefix(e, "?") {
			endpoint.Conditions.Ready = &ready
		}
		s.Endpoints = append(s.Endpoints, endpoint)
	}
	return s
}

// TestChecksFindAndForgive: an unhealthy upstream gets no requests until it is healthy again.
func TestChecksFindAndForgive(t *testing.T) {
	var ill atomic.Bool
	flappy := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != serve.ReadyPath {
			t.Errorf("checked by %s", r.URL)
		}
		if ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
		}
	}))
	defer flappy.Close()
	slow := httptest.NewServer(http.HandlerFunc(stalls))
	defer slow.Close()
	dead := refuses(t)
	// On a starved machine a healthy upstream takes longer than some milliseconds to answer.
	o := Options{Health: Health{Every: time.Millisecond, Timeout: 2 * time.Second}}.WithDefaults()
	p := &pool{health: o.Health}
	p.set([]string{flappy.Listener.Addr().String(), slow.Listener.Addr().String(), dead})
	c := newChecker(p)
	healthy := func() (count int) {
		for _, u := range p.stats() {
			if u.Healthy {
				count++
			}
		}
		return count
	}
	for i, step := range []struct {
		ill  bool
		want int
	}{{false, 3}, {false, 1}, {true, 1}, {true, 0}, {false, 0}, {false, 1}} {
		ill.Store(step.ill)
		c.round(t.Context())
		if got := healthy(); got != step.want {
			t.Errorf("round %d: %d upstreams healthy, want %d: %+v", i, got, step.want, p.stats())
		}
		if i == 1 { // the slow upstream has been found, so later rounds need not wait for it
			p.set([]string{flappy.Listener.Addr().String(), dead})
		}
	}
	ended, cancel := context.WithCancel(t.Context())
	cancel()
	c.round(ended) // failed checks of a gateway that has ended do not make an upstream unhealthy
	c.round(ended)
	if got := healthy(); got != 1 {
		t.Errorf("after the end %d upstreams healthy, want 1", got)
	}
}

// gatewayAt runs a gateway on a port of its own. It returns its URL, a function that sends it SIGTERM, and its result.
func gatewayAt(t *testing.T, o Options, connect func() (kubernetes.Interface, error)) (url string, term func(), ended <-chan error) {
	t.Helper()
	o.Listen = refuses(t)
	ctx, term := context.WithCancel(t.Context())
	result := make(chan error, 1)
	go func() { result <- run(ctx, o.WithDefaults(), connect) }()
	return "http://" + o.Listen, term, result
}

// becomes waits until a GET returns this status; 0 means no answer.
func becomes(t *testing.T, url string, status int, ended <-chan error) {
	t.Helper()
	tick := time.NewTicker(2 * time.Millisecond)
	defer tick.Stop()
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	for {
		got := 0
		if response, err := client.Get(url); err == nil {
			_ = response.Body.Close()
			got = response.StatusCode
		}
		if got == status {
			return
		}
		select {
		case <-tick.C:
		case err := <-ended:
			t.Fatalf("it ended: %v", err)
		}
	}
}

// TestRun follows a service whose only endpoint goes and comes back.
func TestRun(t *testing.T) {
	address := backend(t, good)
	host, portText, _ := net.SplitHostPort(address)
	var port int32
	if _, err := fmt.Sscan(portText, &port); err != nil {
		t.Fatal(err)
	}
	client := fake.NewClientset(slice("a", "backend", port, host))
	o := Options{Namespace: "ns", Service: "backend", Health: Health{Off: true}, Serve: serve.Options{Quiet: 50 * time.Millisecond}}
	url, term, ended := gatewayAt(t, o, func() (kubernetes.Interface, error) { return client, nil })
	becomes(t, url+serve.ReadyPath, http.StatusOK, ended)
	becomes(t, url, http.StatusOK, ended)
	slices := client.DiscoveryV1().EndpointSlices("ns")
	if _, err := slices.Update(t.Context(), slice("a", "backend", port, "!"+host), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	becomes(t, url, http.StatusServiceUnavailable, ended)
	becomes(t, url+serve.ReadyPath, http.StatusOK, ended) // ready: it is known that there is no endpoint
	if _, err := slices.Update(t.Context(), slice("a", "backend", port, host), metav1.UpdateOptions{}); err != nil {
		t.Fatal(err)
	}
	becomes(t, url, http.StatusOK, ended)
	term()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

// client sends requests to a gateway as fast as it can, and records those that were not answered well at the first try.
type client struct {
	transport http.RoundTripper
	url       string
	total     atomic.Int64
	bad       []string
}

func (c *client) run(ctx context.Context, stop <-chan struct{}) {
	for {
		select {
		case <-stop:
			return
		default:
		}
		if problem := c.ask(ctx); problem != "" {
			c.bad = append(c.bad, problem)
		}
		c.total.Add(1)
	}
}

func (c *client) ask(ctx context.Context) (problem string) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, c.url, nil)
	if err != nil {
		return err.Error()
	}
	response, err := c.transport.RoundTrip(r)
	if err != nil {
		return err.Error()
	}
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	if tries := response.Header.Get(HeaderTries); err != nil || string(body) != "ok\n" || tries != "1" {
		return fmt.Sprintf("status %d, %s tries, body %q, %v", response.StatusCode, tries, body, err)
	}
	return ""
}

// replica is a backend that shuts down cleanly.
type replica struct {
	address string
	term    func()
	ended   chan error
}

func startReplica(t *testing.T) replica {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, term := context.WithCancel(t.Context())
	r := replica{l.Addr().String(), term, make(chan error, 1)}
	go func() { r.ended <- serve.Run(ctx, l, serve.Options{}, http.HandlerFunc(good)) }()
	return r
}

// TestRolloutBehindAGateway replaces all backends one by one, as a good rollout does: the endpoint is removed first, then
// the server drains. No request fails or needs a second try.
func TestRolloutBehindAGateway(t *testing.T) {
	replicas := []replica{startReplica(t), startReplica(t), startReplica(t)}
	g, url := front(t, Options{PerTry: 10 * time.Second, Connect: 10 * time.Second}) // long: other tests may keep the machine busy
	publish := func() {
		var all []string
		for _, r := range replicas {
			all = append(all, r.address)
		}
		g.pool.set(all)
	}
	publish()
	transport := &http.Transport{MaxIdleConnsPerHost: 8}
	defer transport.CloseIdleConnections()
	stop, running, clients := make(chan struct{}), sync.WaitGroup{}, make([]client, 6)
	for i := range clients {
		c := &clients[i]
		c.transport, c.url = transport, url
		running.Go(func() { c.run(t.Context(), stop) })
	}
	for i := range replicas {
		old := replicas[i]
		replicas[i] = startReplica(t)
		publish()
		for c := range clients { // a client's request may still be on its way to the old backend; the preStop sleep waits for it
			for before := clients[c].total.Load(); clients[c].total.Load() < before+2; {
				<-time.After(time.Millisecond)
			}
		}
		old.term()
		if err := <-old.ended; err != nil {
			t.Error(err)
		}
	}
	close(stop)
	running.Wait()
	var total int64
	for i := range clients {
		total += clients[i].total.Load()
		for _, problem := range clients[i].bad {
			t.Error(problem)
		}
	}
	for _, r := range replicas {
		r.term()
	}
	if t.Logf("%d requests", total); total < 100 {
		t.Errorf("only %d requests: too few to prove anything", total)
	}
}
