package observe

import (
	"context"
	"fmt"
	"strconv"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

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
	now func() history.Offset
}

// run calls until the context ends. A call that fails is not heard again, and that is all.
func (c caller) run(ctx context.Context) {
	for poll.Pass(ctx, callEvery) == nil {
		c.call(ctx)
	}
}

func (c caller) call(ctx context.Context) {
	ctx, cancel := context.WithTimeout(ctx, callLimit)
	defer cancel()
	const lease = `{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":%q,"annotations":{%q:"%d"}}}`
	apply := fmt.Appendf(nil, lease, echoLease, sentAnnotation, c.now())
	_, _ = c.leases.Patch(ctx, echoLease, types.ApplyPatchType, apply, metav1.PatchOptions{FieldManager: "holdfast", Force: new(true)})
}

// echoEvent tells of a call that came back. A list, after a gap, tells nothing: it came when it was asked for.
func echoEvent(l *coordinationv1.Lease, change history.Change) history.Event {
	sent, err := strconv.ParseInt(l.Annotations[sentAnnotation], 10, 64)
	if l.Name != echoLease || change != history.Modified || err != nil {
		return history.Event{}
	}
	return history.Event{Echo: &history.Echo{Sent: history.Offset(sent)}}
}
