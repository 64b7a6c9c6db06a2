package dial

import (
	"context"
	"crypto/tls"
	"fmt"
	"net"
	"slices"
	"strings"
	"time"
)

// HandshakeError is why no TLS connection was made over a connection that was.
type HandshakeError struct{ Err error }

func (e *HandshakeError) Error() string {
	return "TLS handshake: " + strings.TrimPrefix(e.Err.Error(), "tls: ")
}

func (e *HandshakeError) Unwrap() error { return e.Err }

// Secure makes a TLS connection over another within the limit. If it cannot, it closes the other. A server that chooses none of the
// protocols that the configuration offers is refused: a client that goes on without one speaks another protocol than it was told to.
func Secure(ctx context.Context, over net.Conn, config *tls.Config, limit time.Duration) (net.Conn, error) {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	made := tls.Client(over, config)
	err := made.HandshakeContext(ctx)
	if offered := config.NextProtos; err == nil && len(offered) > 0 && !slices.Contains(offered, made.ConnectionState().NegotiatedProtocol) {
		err = fmt.Errorf("the server does not choose %s, which the client offers by ALPN", strings.Join(offered, " or "))
	}
	if err != nil {
		_ = over.Close() // it is of no use any more
		return nil, &HandshakeError{err}
	}
	return made, nil
}
