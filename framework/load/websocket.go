package load

import (
	"context"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/gorilla/websocket"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/ask"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// LaneSocket is WebSocket messages, on connections that are kept as long as possible.
const LaneSocket history.Lane = "websocket"

// webSocket carries messages over a WebSocket. The library is a dependency of client-go; the only thing it does on its own is
// to answer pings and close frames.
type webSocket struct{ *websocket.Conn }

func newWebSockets(l Lane, d *dialer) transport { return newBidi(l, d, openWebSocket) }

func openWebSocket(ctx context.Context, c *conn, at string) (messageConn, int, error) {
	d := websocket.Dialer{NetDialContext: func(context.Context, string, string) (net.Conn, error) { return c, nil }}
	made, answer, err := d.DialContext(ctx, "ws://"+at+backend.WebSocketPath, http.Header{"User-Agent": {"holdfast"}})
	if answer != nil && answer.StatusCode != http.StatusSwitchingProtocols {
		_ = answer.Body.Close() // the body is in memory
		return nil, answer.StatusCode, errBadStatus
	}
	if err != nil {
		return nil, 0, err
	}
	_ = answer.Body.Close()
	c.answeredBy(identity(answer.Header))
	made.SetReadLimit(maxMessageBytes)
	return webSocket{made}, 0, nil
}

func (s webSocket) receive() (string, error) {
	_, message, err := s.NextReader()
	if err != nil {
		if ask.Orderly(err) {
			return "", fmt.Errorf("%w: %w", errCloseMessage, err)
		}
		return "", err
	}
	text, err := io.ReadAll(message)
	if err != nil {
		return "", fmt.Errorf("%w: %w", errCut, err)
	}
	return string(text), nil
}

func (s webSocket) send(message string, limit time.Duration) error {
	if err := s.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	return s.WriteMessage(websocket.TextMessage, []byte(message))
}

func (s webSocket) close() {
	frame := websocket.FormatCloseMessage(websocket.CloseNormalClosure, "")
	_ = s.WriteControl(websocket.CloseMessage, frame, time.Now().Add(time.Second)) // the connection is closed in any case
	_ = s.Close()
}
