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

// Connections that last: a client sends messages, each an id, whenever it likes, and gets an answer to each, in their order:
// "ok", the id, and how many messages this connection has brought so far. Who answers is in the header of the response
// that began it. A server that is about to end says Leave, and answers on: a client that gets it sends its next message
// on another connection, and closes this one once it has its answers. A close alone would meet messages on their way.
const (
	WebSocketPath = "/websocket"
	// StreamPath leads to messages that are lines, by an upgrade of HTTP/1.1 to StreamProtocol. Bye is the last line of a
	// server that ends in order; a WebSocket has its close frame for that, with code 1001.
	StreamPath     = "/stream"
	StreamProtocol = "holdfast-stream"
	Leave          = "leave"
	Bye            = "bye"
)

const (
	maxMessageBytes = 4096
	// maxUnanswered bounds the messages of a connection that wait for their answer: more are not read.
	maxUnanswered = 1024
	// patience with a client that does not take its answers, or that never says a word.
	writePatience = 10 * time.Second
	talkPatience  = 2 * time.Minute
)

// talk is a connection that lasts.
type talk interface {
	hear() (string, error)
	say(string) error
	bye()         // the server ends in order
	close() error // also while another goroutine hears
}

// withLasting answers at the paths of what lasts.
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
				return // whoever asked was told
			}
			defer func() { _ = t.close() }()
			o.answerAll(r.Context(), t)
		})
	}
	return mux
}

// heard is a message and when it is to be answered.
type heard struct {
	id string
	at time.Time
}

// answerAll answers until the client closes, breaks off, or has had its time to leave.
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

// webSocket is a talk by WebSocket.
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
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(writePatience)) // if it is broken, the client knows
}

func (s webSocket) close() error { return s.Close() }

// stream is a talk by lines.
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

func (s stream) bye() { _ = s.say(Bye) } // if it is broken, the client knows

func (s stream) close() error { return s.Close() }
