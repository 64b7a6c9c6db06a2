package backend

import (
	"net/http"
	"time"

	"github.com/gorilla/websocket"
)

// WebSocketPath is the path of WebSockets. A server that shuts down cleanly ends with a close frame with code 1001.
const WebSocketPath = "/websocket"

// WebSocket is messages over a WebSocket.
//
// Source: https://www.rfc-editor.org/rfc/rfc6455
func WebSocket(o Options, otherwise http.Handler) http.Handler {
	return o.messages(WebSocketPath, upgradeWebSocket, otherwise)
}

type webSocket struct{ *websocket.Conn }

func upgradeWebSocket(w http.ResponseWriter, r *http.Request) (messageConn, error) {
	var upgrade websocket.Upgrader
	c, err := upgrade.Upgrade(w, r, w.Header())
	if err != nil {
		return nil, err
	}
	c.SetReadLimit(maxMessageBytes)
	return webSocket{c}, nil
}

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

func (s webSocket) close() error { return s.Close() }
