package backend

import (
	"maps"
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// WebSocketPath is the path of WebSockets. A server that shuts down cleanly ends with a close frame with code 1001.
const WebSocketPath = "/websocket"

// WebSocket is messages over a WebSocket. A client sends messages, each an ID, at any time, and gets an answer to each, in order: "ok", the
// ID, and the number of messages on this connection so far.
//
// Source: https://www.rfc-editor.org/rfc/rfc6455
func WebSocket(o Options, otherwise http.Handler) http.Handler {
	mux, who := http.NewServeMux(), o.who()
	mux.Handle("/", otherwise)
	mux.HandleFunc("GET "+WebSocketPath, func(w http.ResponseWriter, r *http.Request) {
		maps.Copy(w.Header(), who)
		var upgrade websocket.Upgrader
		c, err := upgrade.Upgrade(w, r, w.Header())
		if err != nil {
			return // the upgrader has sent an error response
		}
		defer func() { _ = c.Close() }()
		c.SetReadLimit(maxMessageBytes)
		o.answerAll(r.Context(), webSocket{c})
	})
	return mux
}

type webSocket struct{ *websocket.Conn }

func (s webSocket) receive() (string, error) {
	if err := s.SetReadDeadline(time.Now().Add(idlePatience)); err != nil {
		return "", err
	}
	_, text, err := s.ReadMessage()
	return string(text), err
}

func (s webSocket) send(text string) error {
	if err := s.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.TextMessage, []byte(text))
}

func (s webSocket) sendClose() {
	frame := websocket.FormatCloseMessage(websocket.CloseGoingAway, "the server ends")
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(writePatience)) // fails only if the connection is broken
}
