package serve

import (
	"context"
	"net"
)

// lasting tells handlers of long-lived connections, such as WebSockets, that their server shuts down.
type lasting struct {
	leaving, closing chan struct{}
}

type lastingKey struct{}

// Leaving returns a channel that is closed when the server of a request begins a clean shutdown. A handler of a long-lived
// connection must then ask its client to reconnect elsewhere, and must keep answering until the client leaves. In a server
// that does not shut down cleanly the channel is never closed.
func Leaving(ctx context.Context) <-chan struct{} { return lastingOf(ctx).leaving }

// Closing returns a channel that is closed when a handler of a long-lived connection must end: its client had time to
// leave.
func Closing(ctx context.Context) <-chan struct{} { return lastingOf(ctx).closing }

func lastingOf(ctx context.Context) lasting {
	l, _ := ctx.Value(lastingKey{}).(lasting)
	return l
}

// connKey is the context key of a request's connection.
type connKey struct{}

func (s *server) connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(context.WithValue(ctx, lastingKey{}, s.lasting), connKey{}, c)
}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
