package loadtest_test

import (
	"crypto/tls"
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"google.golang.org/grpc"
	"google.golang.org/grpc/credentials"
	"google.golang.org/grpc/reflection"
	"google.golang.org/grpc/reflection/grpc_reflection_v1"
	"google.golang.org/protobuf/reflect/protoregistry"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/collect"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// planOfCalls calls a method of the server at an address, with a token from a Secret.
func planOfCalls(address, message string, call request.Call) load.Plan {
	limits := load.Timeouts{Connect: time.Minute, Response: time.Minute, Request: time.Minute}
	made := call.Of(message, nil)
	made.Host, made.FromSecret = "orders.shop:9090", map[string]request.SecretKey{"Authorization": {Name: "probe-token", Key: "header"}}
	return load.Plan{ID: "shop", Duration: 500 * time.Millisecond, Lanes: []load.Lane{{
		Lane: load.LaneH2C, Target: "http://" + address + call.Path(), Rate: 20, Timeouts: limits, Request: made,
		Expect: expect.Answer{Status: []int{http.StatusOK}, Contains: `"id":"200"`},
	}}}
}

func described(s *grpc.Server, files *protoregistry.Files) {
	grpc_reflection_v1.RegisterServerReflectionServer(s, reflection.NewServerV1(reflection.ServerOptions{Services: s, DescriptorResolver: files}))
}

// The reflection service and the method are asked over TLS, on new connections and on kept ones. Nobody else's certificate is accepted.
func TestAWorkerCallsAMethodOverTLS(t *testing.T) {
	identity := httptest.NewUnstartedServer(nil)
	identity.StartTLS()
	identity.Close()
	ca := string(pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: identity.Certificate().Raw}))
	secured := grpc.Creds(credentials.NewTLS(&tls.Config{Certificates: identity.TLS.Certificates}))
	plan := func(lane history.Lane, host string) load.Plan {
		p := planOfCalls(loadtest.ServeOrders(t, described, secured), `{"id": 200}`, request.Call{Method: "orders.v1.Orders/Get"})
		l := &p.Lanes[0]
		l.Lane, l.Target = lane, strings.Replace(l.Target, "http:", "https:", 1)
		l.Request.Host, l.Request.TLS = host, &request.TLS{CA: ca}
		return p
	}
	for _, lane := range []history.Lane{load.LaneH2, load.LaneH2Fresh} {
		rows, _ := collectInto(t, t.TempDir(), plan(lane, "example.com:8443"), collect.WorkerOptions{Secrets: secrets(t, token)})
		for _, r := range rows {
			if r.Outcome != history.OK || lane == load.LaneH2Fresh && r.Reused {
				t.Errorf("%+v", r)
			}
		}
		if len(rows) != 10 {
			t.Errorf("%d rows on %s", len(rows), lane)
		}
	}
	sink, err := history.Create(t.TempDir(), history.Header{Scenario: "test/refused"})
	if err != nil {
		t.Fatal(err)
	}
	worker := startWorker(t, collect.WorkerOptions{Secrets: secrets(t, token)})
	_, err = collect.Start(t.Context(), http.DefaultClient, []collect.Worker{{URL: worker}}, plan(load.LaneH2, "orders.shop:443"), sink)
	if err == nil || !strings.Contains(err.Error(), "certificate is valid for example.com") {
		t.Errorf("another name: %v", err)
	}
}

// The worker asks the server for the method, or gets it with the plan. The message has bytes that are no text.
func TestAWorkerCallsAMethod(t *testing.T) {
	for name, test := range map[string]struct {
		register func(*grpc.Server, *protoregistry.Files)
		set      []byte
	}{
		"by reflection":  {described, nil},
		"by descriptors": {nil, loadtest.OrdersSet(t)},
	} {
		t.Run(name, func(t *testing.T) {
			call := request.Call{Method: "orders.v1.Orders/Get", Descriptors: test.set}
			plan := planOfCalls(loadtest.ServeOrders(t, test.register), `{"id": 200}`, call)
			rows, _ := collectInto(t, t.TempDir(), plan, collect.WorkerOptions{Secrets: secrets(t, token)})
			for _, r := range rows {
				if r.Outcome != history.OK {
					t.Errorf("%s: %s", r.Outcome, r.Err)
				}
			}
			if len(rows) != 10 {
				t.Errorf("%d rows", len(rows))
			}
		})
	}
}

// What the server does not have is said before any load flows.
func TestAWorkerRefusesWhatTheServerDoesNotHave(t *testing.T) {
	for name, test := range map[string]struct {
		register      func(*grpc.Server, *protoregistry.Files)
		call, message string
		want          string
	}{
		"no reflection":   {nil, "orders.v1.Orders/Get", "{}", "the server has no reflection service"},
		"no method":       {described, "orders.v1.Orders/Put", "{}", "service orders.v1.Orders has no method Put: it has Get, Watch"},
		"no service":      {described, "shop.Orders/Get", "{}", "the server has no service shop.Orders: it has orders.v1.Orders"},
		"a stream":        {described, "orders.v1.Orders/Watch", "{}", "is streaming"},
		"another message": {described, "orders.v1.Orders/Get", `{"key": 1}`, `unknown field "key"`},
	} {
		t.Run(name, func(t *testing.T) {
			sink, err := history.Create(t.TempDir(), history.Header{Scenario: "test/refused"})
			if err != nil {
				t.Fatal(err)
			}
			worker := startWorker(t, collect.WorkerOptions{Secrets: secrets(t, token)})
			plan := planOfCalls(loadtest.ServeOrders(t, test.register), test.message, request.Call{Method: test.call})
			_, err = collect.Start(t.Context(), http.DefaultClient, []collect.Worker{{URL: worker}}, plan, sink)
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}
