package hold

import (
	"errors"
	"strconv"
	"sync"
	"testing"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/kubernetes/fake"
	k8stesting "k8s.io/client-go/testing"
)

// server stores one Lease like an API server: it refuses a write with an outdated resource version.
type server struct {
	mu      sync.Mutex
	lease   *coordinationv1.Lease
	version int
	away    bool
	writes  int
	home    bool          // the namespace exists
	deaf    bool          // the next create is stored, but its answer is lost
	reads   int           // so many reads fail from now on
	asleep  chan struct{} // no call returns before it is closed, as in a process that is stopped
	// between is called once, after a read and before the write that follows it.
	between func()
}

var leases = schema.GroupResource{Group: "coordination.k8s.io", Resource: "leases"}

func newServer() (*server, kubernetes.Interface) {
	s, client := &server{}, fake.NewClientset()
	client.PrependReactor("*", "leases", func(a k8stesting.Action) (bool, runtime.Object, error) {
		o, err := s.answer(a)
		return true, o, err
	})
	client.PrependReactor("create", "namespaces", func(k8stesting.Action) (bool, runtime.Object, error) {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.home = true
		return false, nil, nil
	})
	return s, client
}

func (s *server) answer(a k8stesting.Action) (runtime.Object, error) {
	if between := s.take(a); between != nil {
		between()
	}
	if asleep := s.sleeping(); asleep != nil {
		<-asleep
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.away:
		return nil, errors.New("connection refused")
	case s.reads > 0 && a.GetVerb() == "get":
		s.reads--
		return &coordinationv1.Lease{}, errors.New("the server does not answer in time") // as client-go returns it
	case a.GetVerb() == "create":
		return s.create(a.(k8stesting.CreateAction).GetObject().(*coordinationv1.Lease))
	case s.lease == nil:
		return nil, apierrors.NewNotFound(leases, LeaseName)
	case a.GetVerb() == "update":
		l := a.(k8stesting.UpdateAction).GetObject().(*coordinationv1.Lease)
		if l.ResourceVersion != s.lease.ResourceVersion {
			return nil, apierrors.NewConflict(leases, LeaseName, errors.New("it was changed"))
		}
		return s.put(l), nil
	case a.GetVerb() == "delete":
		only := a.(k8stesting.DeleteAction).GetDeleteOptions().Preconditions
		if *only.ResourceVersion != s.lease.ResourceVersion || *only.UID != s.lease.UID {
			return nil, apierrors.NewConflict(leases, LeaseName, errors.New("it was changed"))
		}
		s.lease = nil
		return &coordinationv1.Lease{}, nil
	}
	return s.lease.DeepCopy(), nil
}

// take returns between before a write, once.
func (s *server) take(a k8stesting.Action) func() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if a.GetVerb() == "get" {
		return nil
	}
	between := s.between
	s.between = nil
	return between
}

func (s *server) create(l *coordinationv1.Lease) (runtime.Object, error) {
	if !s.home {
		return nil, apierrors.NewNotFound(schema.GroupResource{Resource: "namespaces"}, Namespace)
	}
	if s.lease != nil {
		return nil, apierrors.NewAlreadyExists(leases, LeaseName)
	}
	l.UID = types.UID("uid-" + strconv.Itoa(s.version))
	if made := s.put(l); !s.deaf {
		return made, nil
	}
	s.deaf = false
	return nil, errors.New("the answer was lost")
}

func (s *server) put(l *coordinationv1.Lease) *coordinationv1.Lease {
	s.version++
	s.writes++
	l = l.DeepCopy()
	l.ResourceVersion = strconv.Itoa(s.version)
	s.lease = l
	return l.DeepCopy()
}

// sleep stops this process, as far as the server sees, until the function that is returned is called.
func (s *server) sleep() (wake func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	asleep := make(chan struct{})
	s.asleep = asleep
	return func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.asleep = nil
		close(asleep)
	}
}

func (s *server) sleeping() chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.asleep
}

// change does something to the stored Lease.
func (s *server) change(do func()) {
	s.mu.Lock()
	defer s.mu.Unlock()
	do()
}

// goAway makes the server unreachable, or reachable again.
func (s *server) goAway(away bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.away = away
}

// written counts the writes of the Lease.
func (s *server) written() int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.writes
}

// holder parses the stored Lease. It is nil if there is no Lease.
func (s *server) holder(t *testing.T) *Holder {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.lease == nil {
		return nil
	}
	who, err := holderOf(s.lease)
	if err != nil {
		t.Fatal(err)
	}
	return &who.Holder
}
