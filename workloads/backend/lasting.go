package backend

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// Long-lived connections: a client sends messages, each an ID, at any time, and gets an answer to each, in order: "ok", the
// ID, and the number of messages on this connection so far. The response header that establishes the connection identifies
// the backend. A server that is about to shut down sends Leave and keeps answering. A client that receives Leave sends its
// next message on a new connection, and closes the old one once it has all answers. If the server just closed the
// connection, messages on their way would be lost.
const (
	WebSocketPath = "/websocket"
	// StreamPath is an HTTP/1.1 upgrade to StreamProtocol, whose messages are lines. Bye is the last line of a server that
	// shuts down cleanly; a WebSocket uses a close frame with code 1001 instead.
	StreamPath     = "/stream"
	StreamProtocol = "holdfast-stream"
	Leave          = "leave"
	Bye            = "bye"
)

const (
	maxMessageBytes = 4096
	// maxUnanswered is the maximum number of unanswered messages on a connection; further messages are not read.
	maxUnanswered = 1024
	// writePatience is for a client that does not read its answers, talkPatience for one that sends nothing.
	writePatience = 10 * time.Second
	talkPatience  = 2 * time.Minute
)

// talk is a long-lived connection.
type talk interface {
	hear() (string, error)
	say(string) error
	bye()         // announces a clean end of the server
	close() error // may be called while another goroutine is in hear
}

// withLasting adds the handlers for long-lived connections.
func (o Options) withLasting(otherwise http.Handler) http.Handler {
	mux, who := http.NewServeMux(), o.who()
	mux.Handle("/", otherwise)
	for path, begin := range map[string]func(http.ResponseWriter, *http.Request) (talk, error){
		WebSocketPath: upgradeWebSocket, StreamPath: upgradeStream,
	} {
		mux.HandleFunc("GET "+path, func(w http.ResponseWriter, r *http.Request) {
			maps.Copy(w.Header(), who)
			t, err := begin(w, r)
			if err != nil {
				return // begin has sent an error response
			}
			defer func() { _ = t.close() }()
			o.answerAll(r.Context(), t)
		})
	}
	return mux
}

// heard is a message and the time at which it is to be answered.
type heard struct {
	id string
	at time.Time
}

// answerAll answers messages until the client closes the connection, the connection breaks, or the client's time to leave
// is over.
func (o Options) answerAll(ctx context.Context, t talk) {
	ctx, stop := context.WithCancel(ctx)
	defer stop()
	messages := make(chan heard, maxUnanswered)
	go func() {
		defer close(messages)
		for {
			id, err := t.hear()
			if err != nil {
				return
			}
			select {
			case messages <- heard{id: id, at: time.Now().Add(o.serviceTime(ctx))}:
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
			err = t.say(fmt.Sprintf("ok %s %d", m.id, n))
			n++
		case <-leaving:
			err, leaving = t.say(Leave), nil
		case <-closing:
			t.bye()
			return
		}
		if err != nil {
			return // the client went away
		}
	}
}

// webSocket is a talk over a WebSocket.
//
// Source: https://www.rfc-editor.org/rfc/rfc6455
type webSocket struct{ *websocket.Conn }

func upgradeWebSocket(w http.ResponseWriter, r *http.Request) (talk, error) {
	var upgrade websocket.Upgrader
	c, err := upgrade.Upgrade(w, r, w.Header())
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(maxMessageBytes)
	return webSocket{c}, nil
}

func (s webSocket) hear() (string, error) {
	if err := s.SetReadDeadline(time.Now().Add(talkPatience)); err != nil {
		return "", err
	}
	_, text, err := s.ReadMessage()
	return string(text), err
}

func (s webSocket) say(text string) error {
	if err := s.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.TextMessage, []byte(text))
}

func (s webSocket) bye() {
	frame := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the server ends")
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(writePatience)) // fails only if the connection is broken
}

func (s webSocket) close() error { return s.Close() }

// stream is a talk in lines.
type stream struct {
	net.Conn
	in *bufio.Reader
}

var errNoUpgrade = errors.New("no upgrade to " + StreamProtocol)

func upgradeStream(w http.ResponseWriter, r *http.Request) (talk, error) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), StreamProtocol) || r.ProtoMajor != 1 {
		http.Error(w, errNoUpgrade.Error(), http.StatusUpgradeRequired)
		return nil, errNoUpgrade
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", StreamProtocol)
	w.WriteHeader(http.StatusSwitchingProtocols)
	c, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if err := both.Flush(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return stream{c, bufio.NewReaderSize(both, maxMessageBytes)}, nil
}

func (s stream) hear() (string, error) {
	if err := s.SetReadDeadline(time.Now().Add(talkPatience)); err != nil {
		return "", err
	}
	line, err := s.in.ReadSlice('\n')
	return strings.TrimSuffix(string(line), "\n"), err
}

func (s stream) say(text string) error {
	if err := s.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	_, err := io.WriteString(s.Conn, text+"\n")
	return err
}

func (s stream) bye() { _ = s.say(Bye) } // fails only if the connection is broken

func (s stream) close() error { return s.Close() }
