package reading

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/pager"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// pageSize is how many objects are asked for at a time.
const pageSize = 500

// Reader reads a cluster.
type Reader struct {
	Client  kubernetes.Interface
	Dynamic dynamic.Interface
	// Server and Context name the cluster.
	Server, Context string
	// Identify says which cluster this is, and who asks.
	Identify func(context.Context) (existing.Identity, error)
	// Clock is the API server's clock, as its last answer told it, and how far this machine's is ahead. nil: they are the same.
	Clock func() (now time.Time, ahead time.Duration)
}

// New reads a cluster by a way to it, with clients that can do nothing but read.
func New(access *existing.Access) (Reader, error) {
	config, clock := access.ReadOnly(), &clock{}
	config.Wrap(clock.through)
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return Reader{}, fmt.Errorf("reach the API server: %w", err)
	}
	untyped, err := dynamic.NewForConfig(config)
	if err != nil {
		return Reader{}, fmt.Errorf("reach the API server: %w", err)
	}
	return Reader{
		Client: client, Dynamic: untyped, Server: access.Server, Context: access.Context, Identify: access.Check, Clock: clock.now,
	}, nil
}

// clock is what the API server's answers say of its clock.
type clock struct {
	mu     sync.Mutex
	server time.Time
	here   time.Time
}

func (c *clock) through(next http.RoundTripper) http.RoundTripper {
	return roundTripper(func(r *http.Request) (*http.Response, error) {
		answer, err := next.RoundTrip(r)
		if err == nil {
			if at, err := http.ParseTime(answer.Header.Get("Date")); err == nil {
				c.mu.Lock()
				c.server, c.here = at, time.Now()
				c.mu.Unlock()
			}
		}
		return answer, err
	})
}

type roundTripper func(*http.Request) (*http.Response, error)

func (f roundTripper) RoundTrip(r *http.Request) (*http.Response, error) { return f(r) }

func (c *clock) now() (time.Time, time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.server.IsZero() {
		return time.Now(), 0
	}
	ahead := c.here.Sub(c.server)
	if ahead > 0 { // the header has whole seconds
		ahead = max(0, ahead-time.Second)
	}
	return c.server.Add(time.Since(c.here)), ahead
}

// Read reads what the rules ask about. It returns an error only if the API server does not answer, or does not know the user.
func (r Reader) Read(ctx context.Context, request disturb.Request) (disturb.Snapshot, error) {
	v := &reading{Reader: r, ctx: ctx, request: request}
	for _, step := range []func(){v.cluster, v.nodes, v.pods, v.namespaces, v.workloads, v.surroundings, v.claims, v.rights, v.replacements, v.holder} {
		if step(); v.err != nil {
			return disturb.Snapshot{}, v.err
		}
	}
	v.Taken = time.Now()
	if r.Clock != nil {
		v.Taken, v.Ahead = r.Clock()
	}
	return v.Snapshot, nil
}

// reading gathers a Snapshot.
type reading struct {
	Reader
	disturb.Snapshot
	ctx     context.Context
	request disturb.Request
	err     error // after which no more is read
}

// refused notes what the API server refuses to show, or keeps the error if it does not answer at all.
func (v *reading) refused(resource, namespace string, err error) {
	var status apierrors.APIStatus
	switch {
	case err == nil || v.err != nil:
	case errors.As(err, &status) && !apierrors.IsUnauthorized(err):
		v.Unread = append(v.Unread, disturb.Unread{Resource: resource, Namespace: namespace, Why: err.Error()})
	default:
		v.err = fmt.Errorf("read %s of %s: %w", resource, v.Server, err)
	}
}

// lister is a client of one resource.
type lister[L runtime.Object] interface {
	List(ctx context.Context, options metav1.ListOptions) (L, error)
}

// list visits all objects of a resource in a namespace, page by page.
func list[T any, L runtime.Object](v *reading, resource, namespace string, from lister[L], visit func(*T)) {
	if v.err != nil {
		return
	}
	pages := pager.New(pager.SimplePageFunc(func(options metav1.ListOptions) (runtime.Object, error) {
		return from.List(v.ctx, options)
	}))
	pages.PageSize = pageSize
	err := pages.EachListItem(v.ctx, metav1.ListOptions{}, func(object runtime.Object) error {
		if typed, is := any(object).(*T); is {
			visit(typed)
		}
		return nil
	})
	v.refused(resource, namespace, err)
}

// owners are the namespaces in which controllers of pods that may end are: the application's, and the neighbours that the file lists.
func (v *reading) owners() []string {
	all := []string{v.request.Namespace}
	for _, f := range v.request.Faults {
		if f.OnNode && f.EndsPods {
			for _, n := range v.request.Limits.Neighbours {
				if !slices.Contains(all, n) {
					all = append(all, n)
				}
			}
		}
	}
	return all
}
