package observe

import (
	"context"
	"fmt"
	"strconv"
	"sync"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	coordinationclient "k8s.io/client-go/kubernetes/typed/coordination/v1"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/poll"
)

const (
	// echoLease is changed by the harness, again and again, and watched like everything else.
	echoLease = "holdfast-echo"
	// sentAnnotation holds when it was changed, as an offset in nanoseconds.
	sentAnnotation = "holdfast.dev/sent"
	// callEvery is how often.
	callEvery = time.Second
	// callLimit bounds one change. While the API server is away the watches' gaps say so.
	callLimit = 5 * time.Second
)

// caller changes a Lease so that the watch of it tells by how much later than it happens the harness learns of a change. The
// Lease goes with its namespace.
type caller struct {
	leases interface {
		Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*coordinationv1.Lease, error)
	}
	sink Sink

	mu    sync.Mutex
	calls map[history.Offset]echoed // that lack one of the two, by when they were sent
}

// echoed is what has come of a call.
type echoed struct {
	back  bool           // by the watch
	taken history.Offset // how long it took until there was an answer; 0: there is none yet
}

func newCaller(leases coordinationclient.LeaseInterface, sink Sink) *caller {
	return &caller{leases: leases, sink: sink, calls: make(map[history.Offset]echoed)}
}

// run calls until the context ends. A call that fails is written down, too: a harness that may not call, or calls in vain, must not
// look like one that hears nothing because all stands still.
func (c *caller) run(ctx context.Context) {
	for poll.Pass(ctx, callEvery) == nil {
		c.call(ctx)
	}
}

func (c *caller) call(ctx context.Context) {
	limited, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const lease = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q,"annotations":{%q:"%d"}}}`
	sent := c.sink.Now()
	apply := fmt.Appendf(nil, lease, echoLease, sentAnnotation, sent)
	_, err := c.leases.Patch(limited, echoLease, types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: "holdfast", Force: new(true)})
	if err != nil && !ended(ctx) {
		now := c.sink.Now()
		_ = c.sink.Append(history.Event{T: now, Echo: &history.Echo{Sent: sent, Taken: now - sent, Error: err.Error()}})
	}
	if heard := c.answered(sent, max(1, c.sink.Now()-sent)); heard != (history.Event{}) {
		heard.T = c.sink.Now()
		_ = c.sink.Append(heard) // a record that refuses it is incomplete anyway
	}
}

// answered notes how long a call took, and tells of its echo if it is back.
func (c *caller) answered(sent, taken history.Offset) history.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[sent].back {
		delete(c.calls, sent)
		return history.Event{Echo: &history.Echo{Sent: sent, Taken: taken}}
	}
	c.calls[sent] = echoed{taken: taken}
	return history.Event{}
}

// back tells of a call that came back, once it was answered as well. A list, after a gap, tells nothing: it came when it was
// asked for.
func (c *caller) back(l *coordinationv1.Lease, change history.Change) history.Event {
	sent, err := strconv.ParseInt(l.Annotations[sentAnnotation], 10, 64)
	if l.Name != echoLease || change != history.Modified || err != nil {
		return history.Event{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.calls[history.Offset(sent)]
	if was.taken == 0 {
		c.calls[history.Offset(sent)] = echoed{back: true}
		return history.Event{}
	}
	delete(c.calls, history.Offset(sent))
	return history.Event{Echo: &history.Echo{Sent: history.Offset(sent), Taken: was.taken}}
}
