package cli

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"strconv"
	"strings"
	"sync"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes/scheme"
)

// leaseServer is an API server with only one Lease per cluster. It refuses a write that is based on an old version. Each
// cluster has a path of its own: http://HOST/NAME.
type leaseServer struct {
	mu      sync.Mutex
	version int
	leases  map[string]*coordinationv1.Lease // by cluster
}

func newLeaseServer() (*leaseServer, *httptest.Server) {
	s := &leaseServer{leases: map[string]*coordinationv1.Lease{}}
	return s, httptest.NewServer(s)
}

var leaseKind = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func (s *leaseServer) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	status, body := s.answer(r)
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_ = json.NewEncoder(w).Encode(body) // a killed client does not read
}

func (s *leaseServer) answer(r *http.Request) (int, any) {
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

// forget removes the Leases of a cluster, as if it were new.
func (s *leaseServer) forget(cluster string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(s.leases, cluster)
}

// held reports whether a run holds a cluster, dead or alive.
func (s *leaseServer) held(cluster string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.leases[cluster] != nil
}

type errPlain string

func (e errPlain) Error() string { return string(e) }

func refuse(no *apierrors.StatusError) (int, any) {
	no.ErrStatus.APIVersion, no.ErrStatus.Kind = "v1", "Status"
	return int(no.ErrStatus.Code), no.ErrStatus
}
