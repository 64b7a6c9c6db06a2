package backend

import (
	"context"
	"fmt"
	"maps"
	"net/http"
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

// messageConn is a long-lived connection that carries messages both ways. A client sends messages, each an ID, at any time, and gets
// an answer to each, in order: "ok", the ID, and the number of messages on this connection so far.
type messageConn interface {
	receive() (string, error)
	send(string) error
	sendClose()   // announces a clean end of the server
	close() error // may be called while another goroutine is in receive
}

// messages handles GET requests of a path, whose connections it upgrades to carry messages. upgrade gets the response's headers in
// the writer: they identify the backend. If it fails, it has sent an error response.
func (o Options) messages(
	path string, upgrade func(http.ResponseWriter, *http.Request) (messageConn, error), otherwise http.Handler,
) http.Handler {
	mux, who := http.NewServeMux(), o.who()
	mux.Handle("/", otherwise)
	mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), who)
		c, err := upgrade(w, r)
		if err != nil {
			return
		}
		defer func() { _ = c.close() }()
		o.answerAll(r.Context(), c)
	})
	return mux
}

// received is a message and the time at which it is to be answered.
type received struct {
	id string
	at time.Time
}

// answerAll answers messages until the client closes the connection, the connection breaks, or the client's time to leave
// is over.
func (o Options) answerAll(ctx context.Context, c messageConn) {
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
