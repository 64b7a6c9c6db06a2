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

	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/history"
)

const (
	// echoLease is a Lease that the harness patches periodically and watches like everything else.
	echoLease = "holdfast-echo"
	// sentAnnotation is the time of a patch, as an offset in nanoseconds.
	sentAnnotation = "holdfast.dev/sent"
	// callEvery is the interval of the patches.
	callEvery = time.Second
	// callLimit is the time-out of one patch. If the API server is away, the gaps of the watches record it.
	callLimit = 5 * time.Second
)

// echoCaller patches a Lease so that its watch shows how long after a change the harness hears of it. The Lease is deleted with
// its namespace.
type echoCaller struct {
	leases interface {
		Patch(context.Context, string, types.PatchType, []byte, metav1.PatchOptions, ...string) (*coordinationv1.Lease, error)
	}
	sink Sink

	mu    sync.Mutex
	calls map[history.Offset]echoed // by the time of sending; calls that have not been answered or not come back yet
}

// echoed is the state of a call.
type echoed struct {
	received bool           // the watch has reported the change
	taken    history.Offset // time until the response; 0: no response yet
}

func newEchoCaller(leases coordinationclient.LeaseInterface, sink Sink) *echoCaller {
	return &echoCaller{leases: leases, sink: sink, calls: make(map[history.Offset]echoed)}
}

// run makes calls until the context ends. A failed call is recorded as well: otherwise a harness whose calls fail, or are
// not allowed, would look like one that hears nothing because it stands still.
func (c *echoCaller) run(ctx context.Context) {
	for poll.Pass(ctx, callEvery) == nil {
		c.call(ctx)
	}
}

func (c *echoCaller) call(ctx context.Context) {
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
	if echo := c.answered(sent, max(1, c.sink.Now()-sent)); echo != (history.Event{}) {
		echo.T = c.sink.Now()
		_ = c.sink.Append(echo) // if the record rejects an event, it is incomplete anyway
	}
}

// answered records how long a call took, and returns the echo event if the call has come back already.
func (c *echoCaller) answered(sent, taken history.Offset) history.Event {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.calls[sent].received {
		delete(c.calls, sent)
		return history.Event{Echo: &history.Echo{Sent: sent, Taken: taken}}
	}
	c.calls[sent] = echoed{taken: taken}
	return history.Event{}
}

// received handles a change of the Lease that the watch reports, and returns the echo event if the call has been answered
// already. An object of a list, after a gap, is not an echo: it came when it was requested.
func (c *echoCaller) received(l *coordinationv1.Lease, change history.Change) history.Event {
	sent, err := strconv.ParseInt(l.Annotations[sentAnnotation], 10, 64)
	if l.Name != echoLease || change != history.Modified || err != nil {
		return history.Event{}
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	was := c.calls[history.Offset(sent)]
	if was.taken == 0 {
		c.calls[history.Offset(sent)] = echoed{received: true}
		return history.Event{}
	}
	delete(c.calls, history.Offset(sent))
	return history.Event{Echo: &history.Echo{Sent: history.Offset(sent), Taken: was.taken}}
}
