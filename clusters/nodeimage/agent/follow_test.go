package main

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/base64"
	"encoding/pem"
	"fmt"
	"io"
	"math/big"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
)

func object(name, ip, cidr string) string {
	return fmt.Sprintf(`{"metadata":{"name":%q,"resourceVersion":"5"},"spec":{"podCIDRs":[%q]},`+
		`"status":{"addresses":[{"type":"Hostname","address":%q},{"type":"InternalIP","address":%q}]}}`, name, cidr, name, ip)
}

func event(kind, object string) string {
	return fmt.Sprintf(`{"type":%q,"object":%s}`+"\n", kind, object)
}

// server is an API server that has some nodes and answers a watch with given lines.
type server struct {
	*httptest.Server
	mu      sync.Mutex
	created []string // paths posted to
	status  int      // of a post
	watch   string   // the lines of a watch
}

func newServer(t *testing.T) *server {
	s := &server{status: http.StatusCreated}
	s.Server = httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case r.Method == http.MethodPost:
			s.created = append(s.created, r.URL.Path)
			w.WriteHeader(s.status)
		case r.URL.Query().Get("watch") != "":
			if got := r.URL.Query().Get("resourceVersion"); got != "4" {
				t.Errorf("watch from resource version %q, want the list's", got)
			}
			_, _ = io.WriteString(w, s.watch)
		default:
			_, _ = io.WriteString(w, `{"metadata":{"resourceVersion":"4"},"items":[`+object("b", "10.89.0.3", "10.244.1.0/24")+`]}`)
		}
	}))
	s.EnableHTTP2 = true
	s.StartTLS()
	t.Cleanup(s.Close)
	return s
}

// kubeconfig returns a kubeconfig as kubeadm writes it.
func (s *server) kubeconfig(t *testing.T) string {
	t.Helper()
	ca := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: s.Certificate().Raw})
	cert, key := keyPair(t)
	encode := base64.StdEncoding.EncodeToString
	return fmt.Sprintf("apiVersion: v1\nclusters:\n- cluster:\n    certificate-authority-data: %s\n    server: %s\n  name: kind\n"+
		"users:\n- name: x\n  user:\n    client-certificate-data: %s\n    client-key-data: %s\n", encode(ca), s.URL, encode(cert), encode(key))
}

func keyPair(t *testing.T) (cert, key []byte) {
	t.Helper()
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "system:node:a"}, NotAfter: time.Now().Add(time.Hour)}
	made, err := x509.CreateCertificate(rand.Reader, template, template, &private.PublicKey, private)
	if err != nil {
		t.Fatal(err)
	}
	bytes, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: made}), pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: bytes})
}

func TestWatch(t *testing.T) {
	s := newServer(t)
	s.watch = event("ADDED", object("a", "10.89.0.2", "10.244.0.0/24")) +
		event("MODIFIED", object("b", "10.89.0.9", "10.244.1.0/24")) +
		event("DELETED", object("b", "10.89.0.9", "10.244.1.0/24"))
	at := testPaths(t)
	write(t, at.kubelet, s.kubeconfig(t))
	heard := make(chan []node, 10)
	if err := watch(t.Context(), at.kubelet, heard); err != nil {
		t.Fatal(err)
	}
	close(heard)
	var got [][]node
	for nodes := range heard {
		got = append(got, nodes)
	}
	a, b := two[0], two[1]
	moved := node{Name: "b", IP: "10.89.0.9", PodCIDR: "10.244.1.0/24"}
	if diff := cmp.Diff([][]node{{b}, {a, b}, {a, moved}, {a}}, got); diff != "" {
		t.Errorf("heard (-want +got):\n%s", diff)
	}
}

func TestEventsThatEndAWatch(t *testing.T) {
	for _, c := range []struct{ name, lines, want string }{
		{"an error of the server", event("ERROR", `{"code":410}`), `watch the nodes: the server says {"code":410}`},
		{"a line cut off", `{"type":"ADDED","obj`, "watch the nodes: unexpected EOF"},
		{"no node", event("ADDED", `[]`), "read a node: json: cannot unmarshal array into Go value of type main.nodeObject"},
	} {
		t.Run(c.name, func(t *testing.T) {
			err := events(t.Context(), strings.NewReader(c.lines), map[string]node{}, make(chan []node, 1))
			if err == nil || err.Error() != c.want {
				t.Errorf("got %v, want %s", err, c.want)
			}
		})
	}
}

func TestGrant(t *testing.T) {
	s := newServer(t)
	at := testPaths(t)
	write(t, at.admin, s.kubeconfig(t))
	for _, c := range []struct {
		status int
		fails  bool
	}{{http.StatusCreated, false}, {http.StatusConflict, false}, {http.StatusForbidden, true}} {
		s.status = c.status
		if err := grant(t.Context(), at.admin); (err != nil) != c.fails {
			t.Errorf("status %d: %v", c.status, err)
		}
	}
	for _, path := range []string{"/apis/rbac.authorization.k8s.io/v1/clusterroles", "/apis/rbac.authorization.k8s.io/v1/clusterrolebindings"} {
		if !strings.Contains(strings.Join(s.created, " ")+" ", path+" ") {
			t.Errorf("nothing was posted to %s: %q", path, s.created)
		}
	}
}

// The agent on the control plane grants before it lists, and follow retries while the server cannot be reached.
func TestFollow(t *testing.T) {
	s := newServer(t)
	at := testPaths(t)
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	heard, over := make(chan []node), make(chan struct{})
	go func() { defer close(over); follow(ctx, at, heard) }()
	write(t, at.admin, s.kubeconfig(t))
	write(t, at.kubelet, s.kubeconfig(t))
	select {
	case nodes := <-heard:
		if diff := cmp.Diff([]node{two[1]}, nodes); diff != "" {
			t.Errorf("(-want +got):\n%s", diff)
		}
	case <-time.After(20 * time.Second):
		t.Fatal("heard nothing")
	}
	cancel()
	<-over
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.created) < 2 {
		t.Errorf("posted to %q", s.created)
	}
}

func TestConnectTellsWhatIsMissing(t *testing.T) {
	s := newServer(t)
	whole := s.kubeconfig(t)
	for _, key := range []string{"certificate-authority", "client-certificate", "client-key"} {
		at := testPaths(t)
		write(t, at.kubelet, strings.ReplaceAll(whole, key+"-data:", "x:"))
		if _, err := connect(at.kubelet); err == nil || !strings.HasSuffix(err.Error(), "no "+key) {
			t.Errorf("without %s: %v", key, err)
		}
	}
	// The kubelet's kubeconfig refers to files.
	at := testPaths(t)
	cert, key := keyPair(t)
	write(t, at.state, string(cert)+string(key))
	text, _, _ := strings.Cut(whole, "users:")
	text += "    client-certificate: " + at.state + "\n    client-key: " + at.state + "\n"
	write(t, at.kubelet, text)
	if _, err := connect(at.kubelet); err != nil {
		t.Error(err)
	}
}

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
