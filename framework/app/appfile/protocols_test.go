package appfile_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/loadtest"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/app"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// withProbe is a small file with one probe, which begins at line 4, column 11. Beside it are descriptors.
func withProbe(t *testing.T, probe string) string {
	t.Helper()
	path := write(t, fmt.Sprintf("apiVersion: holdfast.dev/v1alpha1\nkind: App\napp: {manifests: [k8s/]}\nprobes: [{%s}]\n", probe))
	for name, content := range map[string][]byte{"orders.pb": loadtest.OrdersSet(t), "orders.proto": []byte(`syntax = "proto3";`), "ca.pem": []byte("some PEM"), "empty.pem": nil} {
		if err := os.WriteFile(filepath.Join(filepath.Dir(path), name), content, 0o600); err != nil {
			t.Fatal(err)
		}
	}
	return path
}

// probeOf reads the one probe of a file.
func probeOf(path string) (apptest.Probe, error) {
	f, err := appfile.Read(path)
	if err != nil {
		return apptest.Probe{}, err
	}
	probes, err := f.ProbesOf()
	if err != nil {
		return apptest.Probe{}, err
	}
	return probes[0], nil
}

// over is a request over TLS.
func over(r request.Request, how request.TLS) request.Request {
	r.TLS = &how
	return r
}

func TestProbesOfWebSocketsAndCalls(t *testing.T) {
	one := "1"
	orders := request.Call{Method: "orders.v1.Orders/Get"}
	withToken := orders.Of(`{"id": 1}`, map[string]string{"X-Probe": "1"})
	withToken.FromSecret = map[string]request.SecretKey{"Authorization": {Name: "probe", Key: "token"}}
	for name, test := range map[string]struct {
		probe string
		want  apptest.Probe
	}{
		"a WebSocket": {
			`url: "ws://chat.shop/socket", send: '{"type":"ping"}', headers: {Sec-WebSocket-Protocol: chat.v1}, expect: {contains: pong, within: 1s}, rate: 20`,
			apptest.Probe{
				Name: "chat", URL: "ws://chat.shop/socket", Rate: 20, Expect: expect.Answer{Contains: "pong", Within: time.Second},
				Request: request.Request{Body: `{"type":"ping"}`, Headers: map[string]string{"Sec-WebSocket-Protocol": "chat.v1"}},
			},
		},
		"a WebSocket of a subprotocol": {
			`url: "ws://chat/", subprotocols: [chat.v2, chat.v1]`,
			apptest.Probe{Name: "chat", URL: "ws://chat/", Request: request.Request{Headers: map[string]string{"Sec-WebSocket-Protocol": "chat.v2, chat.v1"}}},
		},
		"a health check": {
			`grpc: "orders:9090", service: orders`,
			apptest.Probe{Name: "orders", URL: "http://orders:9090/grpc.health.v1.Health/Check", Request: request.Health("orders"), Expect: expect.Answer{Serving: true}},
		},
		"a health check over TLS": {
			`grpc: "orders:443", tls: {}, lanes: [h2-fresh]`,
			apptest.Probe{
				Name: "orders", URL: "https://orders:443/grpc.health.v1.Health/Check", Request: over(request.Health(""), request.TLS{}), Expect: expect.Answer{Serving: true},
				Lanes: []history.Lane{"h2-fresh"},
			},
		},
		"a call over TLS": {
			`grpc: "orders:443", call: orders.v1.Orders/Get, tls: {ca: ca.pem}`,
			apptest.Probe{Name: "orders", URL: "https://orders:443/orders.v1.Orders/Get", Request: over(orders.Of("", nil), request.TLS{CA: "some PEM"})},
		},
		"an https URL over HTTP/2": {
			`url: "https://shop/", lanes: [h2, h2-fresh], tls: {unverified: true}`,
			apptest.Probe{Name: "shop", URL: "https://shop/", Request: over(request.Request{}, request.TLS{Unverified: true}), Lanes: []history.Lane{"h2", "h2-fresh"}},
		},
		"a WebSocket over TLS": {
			`url: "wss://chat/", tls: {unverified: true}`,
			apptest.Probe{Name: "chat", URL: "wss://chat/", Request: request.Request{TLS: &request.TLS{Unverified: true}}},
		},
		"a call by reflection": {
			`grpc: "orders.shop:9090", call: /orders.v1.Orders/Get, body: '{"id": 1}', headers: {X-Probe: "1", Authorization: {fromSecret: probe/token}}, expect: {status: [OK, NOT_FOUND]}`,
			apptest.Probe{Name: "orders", URL: "http://orders.shop:9090/orders.v1.Orders/Get", Request: withToken, Expect: expect.Answer{Codes: []string{"OK", "NOT_FOUND"}}},
		},
		"a call and a value": {
			`name: api, grpc: "orders:9090", call: orders.v1.Orders/Get, expect: {json: {path: "{.id}", equals: 1}}`,
			apptest.Probe{
				Name: "api", URL: "http://orders:9090/orders.v1.Orders/Get", Request: orders.Of("", nil), Expect: expect.Answer{JSON: &expect.JSON{Path: "{.id}", Equals: &one}},
			},
		},
	} {
		t.Run(name, func(t *testing.T) {
			got, err := probeOf(withProbe(t, test.probe))
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}

// A file with descriptors is read with the test, so that what it does not fit is said before anything is deployed.
func TestDescriptorsAreBesideTheFile(t *testing.T) {
	path := withProbe(t, `grpc: "orders:9090", call: orders.v1.Orders/Get, body: '{"id": 1}', descriptors: orders.pb`)
	got, err := probeOf(path)
	if err != nil || got.Request.Call == nil || len(got.Request.Call.Descriptors) == 0 {
		t.Fatalf("%+v, %v", got.Request.Call, err)
	}
	if err := got.Request.Validate(); err != nil {
		t.Error(err)
	}
	if _, err := got.Request.Resolved(t.Context(), "http://127.0.0.1:1"); err != nil { // nobody is asked
		t.Error(err)
	}
}

func TestMistakesInProbesOfOtherProtocols(t *testing.T) {
	for name, test := range map[string]struct{ probe, want string }{
		"a status that is none":    {`grpc: "a:1", call: a.B/C, expect: {status: [NotFound]}`, `line 4, column 55: status "NotFound": want 200 to 599, or with call one of OK, CANCELLED`},
		"a status of nobody":       {`url: "http://a/", expect: {status: [99]}`, `line 4, column 47: status "99": want 200 to 599`},
		"a status of HTTP":         {`grpc: "a:1", call: a.B/C, expect: {status: [200]}`, "line 4, column 55: status 200: want one of gRPC, such as OK"},
		"a status of gRPC":         {`url: "http://a/", expect: {status: [OK]}`, "line 4, column 47: status OK: want one of HTTP, such as 200"},
		"one status":               {`grpc: "a:1", call: a.B/C, expect: {status: OK}`, "line 4, column 54: probes[0].expect.status: want a list"},
		"no method":                {`grpc: "a:1", call: Get`, `line 4, column 30: call: "Get" is no method: want PACKAGE.SERVICE/METHOD`},
		"a list of methods":        {`grpc: "a:1", call: [a.B/C]`, "line 4, column 30: probes[0].call: want a text"},
		"a typo":                   {`grpc: "a:1", calls: a.B/C`, "line 4, column 24: there is no field probes[0].calls: did you mean call?"},
		"a call over HTTP":         {`url: "http://a/", call: a.B/C`, "call is for grpc"},
		"descriptors alone":        {`grpc: "a:1", descriptors: orders.pb`, "descriptors are for call"},
		"a call and a service":     {`grpc: "a:1", call: a.B/C, service: a.B`, "a gRPC call has no HTTP method, and no service"},
		"TLS over HTTP":            {`url: "http://a/", tls: {}`, "probe 1: tls is for an https or wss URL, or for grpc"},
		"TLS over ws":              {`url: "ws://a/", tls: {unverified: true}`, "tls is for an https or wss URL, or for grpc"},
		"TLS over TCP":             {`tcp: "a:1", tls: {}`, "tls is for an https or wss URL, or for grpc"},
		"TLS and nothing":          {`grpc: "a:1", tls: `, "line 4, column 29: probes[0].tls: want fields of its own"},
		"TLS and a tilde":          {`grpc: "a:1", tls: ~`, "line 4, column 29: probes[0].tls: want fields of its own"},
		"TLS and true":             {`grpc: "a:1", tls: true`, "line 4, column 29: probes[0].tls: want fields of its own"},
		"no authority":             {`grpc: "a:1", tls: {ca: none.pem}`, "read its certificate authority: open "},
		"an empty authority":       {`grpc: "a:1", tls: {ca: empty.pem}`, "empty.pem is empty"},
		"subprotocols over HTTP":   {`url: "http://a/", subprotocols: [chat]`, "send and subprotocols are for a ws or wss URL"},
		"no subprotocol":           {`url: "ws://a/", subprotocols: ["chat v1"]`, `probe 1: subprotocol "chat v1" is no token, or is there twice`},
		"two subprotocols alike":   {`url: "ws://a/", subprotocols: [chat, chat]`, `subprotocol "chat" is no token, or is there twice`},
		"subprotocols twice":       {`url: "ws://a/", subprotocols: [chat], headers: {sec-websocket-protocol: {fromSecret: a/b}}`, "want one of subprotocols and header sec-websocket-protocol"},
		"no descriptors":           {`grpc: "a:1", call: a.B/C, descriptors: none.pb`, "descriptors: open "},
		"descriptors in text":      {`grpc: "a:1", call: a.B/C, descriptors: orders.proto`, "it is no descriptor set: make one with 'protoc"},
		"another service":          {`grpc: "a:1", call: a.B/C, descriptors: orders.pb`, "the descriptor set has no service a.B: it has orders.v1.Orders"},
		"a streaming method":       {`grpc: "a:1", call: orders.v1.Orders/Watch, descriptors: orders.pb`, "is streaming"},
		"another message":          {`grpc: "a:1", call: orders.v1.Orders/Get, body: '{"it": 1}', descriptors: orders.pb`, `(line 1:2): unknown field "it"`},
		"a message over HTTP":      {`url: "http://a/", send: ping`, "send and subprotocols are for a ws or wss URL"},
		"a message over TCP":       {`tcp: "a:1", send: ping`, "send and subprotocols are for a ws or wss URL"},
		"a WebSocket's body":       {`url: "ws://a/", body: ping`, "a WebSocket has no method, body or status"},
		"a WebSocket's status":     {`url: "ws://a/", send: ping, expect: {status: [200]}`, "a WebSocket has no method, body or status"},
		"a header of the protocol": {`url: "ws://a/", send: ping, headers: {sec-websocket-key: x}`, "header sec-websocket-key is set by the client itself"},
		"a WebSocket and a call":   {`url: "ws://a/", call: a.B/C`, "call is for grpc"},
	} {
		t.Run(name, func(t *testing.T) {
			if _, err := probeOf(withProbe(t, test.probe)); err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want one with %q", err, test.want)
			}
		})
	}
}

// A URL on the command line is enough: a WebSocket that opens is a good answer.
func TestAWebSocketOfTheCommandLine(t *testing.T) {
	t.Chdir(t.TempDir())
	if err := os.WriteFile("web.yaml", []byte(workload), 0o600); err != nil {
		t.Fatal(err)
	}
	choice := appfile.Choice{Sources: app.Sources{Files: []string{"web.yaml"}}, URLs: []string{"ws://web/socket"}}
	test, err := choice.Test(t.Context())
	if err != nil || len(test.Probes) != 1 || test.Probes[0].URL != "ws://web/socket" || test.Probes[0].Name != "web" {
		t.Errorf("%+v, %v", test.Probes, err)
	}
}
