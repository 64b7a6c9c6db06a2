// Package leasetest has an API server in memory with nothing but the Leases that hold clusters.
package leasetest

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"

	"github.com/holdfast-ha/holdfast/framework/base/process"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
)

// Server is an API server with only one Lease per cluster. It refuses a write that is based on an old version. Each
// cluster has a path of its own: http://HOST/NAME.
type Server struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease // by cluster
}

// New starts a server. The caller closes it.
func New() (*Server, *httptest.Server) {
	s := &Server{leases: map[string]*coordinationv1.Lease{}}
	return s, httptest.NewServer(s)
}

var leaseKind = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *Server) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a killed client does not read
}

func (s *Server) answer(r *http.Request) (int, any) {
	cluster, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	if !strings.HasPrefix(path, "apis/coordination.k8s.io/v1/namespaces/holdfast/leases") {
		return refuse(apierrors.NewInternalError(errPlain("there are Leases here, and nothing else")))
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	there := s.leases[cluster]
	var sent coordinationv1.Lease
	if r.Method == http.MethodPost || r.Method == http.MethodPut {
		text, err := io.ReadAll(r.Body)
		if err == nil {
			_, _, err = scheme.Codecs.UniversalDeserializer().Decode(text, nil, &sent)
		}
		if err != nil {
			return refuse(apierrors.NewBadRequest(err.Error()))
		}
		sent.APIVersion, sent.Kind = "coordination.k8s.io/v1", "Lease"
	}
	switch {
	case r.Method == http.MethodPost && there != nil:
		return refuse(apierrors.NewAlreadyExists(leaseKind, "cluster"))
	case r.Method == http.MethodPost:
		sent.UID = types.UID("uid-" + strconv.Itoa(s.version))
	case there == nil:
		return refuse(apierrors.NewNotFound(leaseKind, "cluster"))
	case r.Method == http.MethodDelete:
		delete(s.leases, cluster)
		return http.StatusOK, there
	case r.Method == http.MethodPut && sent.ResourceVersion != there.ResourceVersion:
		return refuse(apierrors.NewConflict(leaseKind, "cluster", errPlain("it was changed")))
	case r.Method == http.MethodGet:
		return http.StatusOK, there
	}
	s.version++
	sent.ResourceVersion = strconv.Itoa(s.version)
	s.leases[cluster] = &sent
	return http.StatusOK, &sent
}

// Forget removes the Leases of a cluster, as if it were new.
func (s *Server) Forget(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, cluster)
}

// Held reports whether a run holds a cluster, dead or alive.
func (s *Server) Held(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[cluster] != nil
}

// Hold makes this process hold the cluster demo as run 1, and returns since when. The server's URL is url.
func (s *Server) Hold(t testing.TB, url string) time.Time {
	t.Helper()
	client, err := kubernetes.NewForConfig(&rest.Config{Host: url + "/demo"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := hold.Take(t.Context(), client, "run 1", "holdfast run --cluster demo", hold.Options{Cluster: "demo"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(h.Drop)
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases["demo"].Spec.AcquireTime.Time
}

// Abandon writes the copy of a Lease that a run which was killed in the middle of a fault leaves on this machine.
func Abandon(t testing.TB, name string) {
	t.Helper()
	here := process.Self()
	text := fmt.Sprintf(`{"run":"run 7","host":%q,"machine":%q,"pid":1,"began":"0","fault":"chaos/x: kill one worker"}`, here.Host, here.Machine)
	if err := errors.Join(os.MkdirAll(filepath.Dir(name), 0o755), os.WriteFile(name, []byte(text), 0o600)); err != nil {
		t.Fatal(err)
	}
}

type errPlain string

func (e errPlain) Error() string { return string(e) }

func refuse(no *apierrors.StatusError) (int, any) {
	no.ErrStatus.APIVersion, no.ErrStatus.Kind = "v1", "Status"
	return int(no.ErrStatus.Code), no.ErrStatus
}
