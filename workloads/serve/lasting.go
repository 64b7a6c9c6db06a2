package serve

import (
	"context"
	"net"
)

// lasting is what handlers that last, such as those of WebSockets, are told of their server's end.
type lasting struct {
	leaving, closing chan struct{}
}

type lastingKey struct{}

// Leaving is closed when the server of a request begins to end in order: a handler that lasts is to ask its client to
// connect elsewhere, and to go on answering until it does. In a server that does not end in order it never is.
func Leaving(ctx context.Context) <-chan struct{} { return lastingOf(ctx).leaving }

// Closing is closed when a handler that lasts must end: its client had time to leave.
func Closing(ctx context.Context) <-chan struct{} { return lastingOf(ctx).closing }

func lastingOf(ctx context.Context) lasting {
	l, _ := ctx.Value(lastingKey{}).(lasting)
	return l
}

// connKey finds the connection of a request.
type connKey struct{}

func (s *server) connContext(ctx context.Context, c net.Conn) context.Context {
	return context.WithValue(context.WithValue(ctx, lastingKey{}, s.lasting), connKey{}, c)
}

func connOf(ctx context.Context) *conn {
	c, _ := ctx.Value(connKey{}).(*conn)
	return c
}
