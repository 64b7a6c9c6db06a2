package healer

import (
	"context"
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	authorizationv1 "k8s.io/api/authorization/v1"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
)

// TestServe: ready only once a look for notes has succeeded, not while they cannot be, and a stop is stored before it is answered.
func TestServe(t *testing.T) {
	p := newPlace(t)
	held, _ := p.run(nil, 0)
	defer held.Drop()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	client, untyped := p.clients(nil)
	ctx, cancel := context.WithCancel(t.Context())
	over := make(chan error, 1)
	o := Options{Name: "a", Client: client, Dynamic: untyped, May: nodes}
	go func() { over <- serve(ctx, o, listener) }()
	url := "http://" + listener.Addr().String()
	err = poll.Until(t.Context(), "the healer to be ready", 10*time.Second, func(context.Context) (bool, string, error) {
		answer, err := http.Get(url + HealthPath)
		if err != nil {
			return false, "", err
		}
		return answer.StatusCode == http.StatusOK, answer.Status, answer.Body.Close()
	})
	if err != nil {
		t.Fatal(err)
	}
	answer, err := http.Post(url+StopPath, "text/plain", strings.NewReader("5 requests in a row failed"))
	if err != nil {
		t.Fatal(err)
	}
	text, err := io.ReadAll(answer.Body)
	if err != nil || answer.StatusCode != http.StatusOK {
		t.Errorf("%v: %s %s", err, answer.Status, text)
	}
	if p.opens(10*time.Second) == 0 {
		t.Error("nothing was undone")
	}
	cancel()
	if err := <-over; err != nil {
		t.Error(err)
	}
}

// TestNotReady: a healer that could not look for notes lately does not count.
func TestNotReady(t *testing.T) {
	f := &front{}
	for _, test := range []struct {
		last time.Time
		want int
	}{{time.Time{}, 503}, {time.Now(), 200}, {time.Now().Add(-StaleAfter - time.Second), 503}} {
		f.last = test.last
		answer := httptest.NewRecorder()
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, HealthPath, nil)
		if err != nil {
			t.Fatal(err)
		}
		f.handler().ServeHTTP(answer, request)
		if answer.Code != test.want {
			t.Errorf("last look %s: %d, want %d", test.last, answer.Code, test.want)
		}
	}
}

// TestNotReadyWithoutRights: a healer that could not undo what the run does is not ready, although it looks for notes; with the rights it is, and it is
// not any more when they are taken away.
func TestNotReadyWithoutRights(t *testing.T) {
	for _, lacks := range []existing.Permission{
		{Verb: "patch", Resource: "nodes"}, {Verb: "patch", Group: "apps", Resource: "deployments", Namespace: "shop"},
		{Verb: "get", Resource: "nodes"},
	} {
		synctest.Test(t, func(t *testing.T) {
			p := newPlace(t)
			var may atomic.Bool
			p.May = func(a authorizationv1.ResourceAttributes) bool {
				asked := existing.Permission{Verb: a.Verb, Group: a.Group, Resource: a.Resource, Subresource: a.Subresource, Namespace: a.Namespace}
				return may.Load() || asked != lacks
			}
			client, untyped := p.clients(nil)
			args, err := Needing([]existing.Permission{{Verb: "list", Resource: "nodes"}, lacks})
			if err != nil {
				t.Fatal(err)
			}
			var needs []existing.Permission
			if err := json.Unmarshal([]byte(args[0][len("--may="):]), &needs); err != nil {
				t.Fatal(err)
			}
			f := &front{}
			ctx, cancel := context.WithCancel(t.Context())
			over := make(chan error, 1)
			go func() {
				over <- Run(ctx, Options{Name: "a", Client: client, Dynamic: untyped, May: needs, Looked: f.looked})
			}()
			for _, want := range []struct {
				may  bool
				code int
				says string
			}{{false, 503, "has no permission to " + lacks.String()}, {true, 200, "ready"}, {false, 503, "has no permission to " + lacks.String()}} {
				may.Store(want.may)
				time.Sleep(StaleAfter + askEvery + Every)
				answer := httptest.NewRecorder()
				f.handler().ServeHTTP(answer, httptest.NewRequestWithContext(ctx, http.MethodGet, HealthPath, nil))
				if answer.Code != want.code || !strings.Contains(answer.Body.String(), want.says) {
					t.Errorf("without %s: %t: %d, %s", lacks, !want.may, answer.Code, answer.Body)
				}
			}
			cancel()
			if err := <-over; err != nil {
				t.Error(err)
			}
		})
	}
}
