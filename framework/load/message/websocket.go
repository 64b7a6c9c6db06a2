package message

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/load/ask"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// webSocket carries messages over a WebSocket. The library is a dependency of client-go; the only thing it does on its own is
// to answer pings and close frames.
type webSocket struct{ *websocket.Conn }

// OpenWebSocket makes a WebSocket of a connection. The server is asked for paths below at, which is an address or begins with one. Head is the
// head of the server's answer. If the server answered with an unexpected status, the error is ErrBadStatus and status is what it answered.
func OpenWebSocket(ctx context.Context, over net.Conn, at string) (opened Conn, head http.Header, status int, err error) {
	d := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return over, nil }}
	made, answer, err := d.DialContext(ctx, "ws://"+at+backend.WebSocketPath, http.Header{"User-Agent": {"holdfast"}})
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		_ = answer.Body.Close() // the body is in memory
		return nil, nil, answer.StatusCode, ErrBadStatus
	}
	if err != nil {
		return nil, nil, 0, err
	}
	_ = answer.Body.Close()
	made.SetReadLimit(maxBytes)
	return webSocket{made}, answer.Header, 0, nil
}

func (s webSocket) Receive() (string, error) {
	_, message, err := s.NextReader()
	if err != nil {
		if ask.Orderly(err) {
			return "", fmt.Errorf("%w: %w", ErrClose, err)
		}
		return "", err
	}
	text, err := io.ReadAll(message)
	if err != nil {
		return "", fmt.Errorf("%w: %w", ErrCut, err)
	}
	return string(text), nil
}

func (s webSocket) Send(message string, limit time.Duration) error {
	if err := s.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.TextMessage, []byte(message))
}

func (s webSocket) Close() {
	frame := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(time.Second)) // the connection is closed in any case
	_ = s.Conn.Close()
}
