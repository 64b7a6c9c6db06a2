package backend

import (
	"context"
	"fmt"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Leave is what a server sends that is about to shut down. It keeps answering. A client that receives Leave sends its next
// message on a new connection, and closes the old one once it has all answers. If the server just closed the connection, messages
// on their way would be lost.
const Leave = "leave"

const (
	maxMessageBytes = 4096
	// maxUnanswered is the maximum number of unanswered messages on a connection; further messages are not read.
	maxUnanswered = 1024
	// writePatience is for a client that does not read its answers, idlePatience for one that sends nothing.
	writePatience = 10 * time.Second
	idlePatience  = 2 * time.Minute
)

// received is a message and the time at which it is to be answered.
type received struct {
	id string
	at time.Time
}

// answerAll answers messages until the client closes the connection, the connection breaks, or the client's time to leave
// is over.
func (o Options) answerAll(ctx context.Context, c webSocket) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	messages := make(chan received, maxUnanswered)
	go func() {
		defer close(messages)
		for {
			id, err := c.receive()
			if err != nil {
				return
			}
			select {
			case messages <- received{id: id, at: time.Now().Add(o.serviceTime(ctx))}:
			case <-ctx.Done():
				return
			}
		}
	}()
	leaving, closing := serve.Leaving(ctx), serve.Closing(ctx)
	for n := 1; ; {
		var err error
		select {
		case m, more := <-messages:
			if !more || !pass(ctx, time.Until(m.at)) {
				return
			}
			work(o.Work)
			err = c.send(fmt.Sprintf("ok %s %d", m.id, n))
			n++
		case <-leaving:
			err, leaving = c.send(Leave), nil
		case <-closing:
			c.sendClose()
			return
		}
		if err != nil {
			return // the client went away
		}
	}
}
