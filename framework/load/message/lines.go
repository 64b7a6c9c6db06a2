package message

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// lines carries messages as lines of text, after an HTTP/1.1 upgrade.
type lines struct {
	over net.Conn
	in   *bufio.Reader
}

// OpenLines is an Open for messages in lines of text.
func OpenLines(ctx context.Context, over net.Conn, at string) (Conn, http.Header, int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+backend.StreamPath, nil)
	if err != nil {
		return nil, nil, 0, err
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {backend.StreamProtocol}, "User-Agent": {"holdfast"}}
	if err := r.Write(over); err != nil {
		return nil, nil, 0, err
	}
	in := bufio.NewReaderSize(over, maxBytes)
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, nil, 0, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		_ = answer.Body.Close()
		return nil, nil, answer.StatusCode, ErrBadStatus
	}
	return &lines{over, in}, answer.Header, 0, nil
}

func (l *lines) Receive() (string, error) {
	text, err := l.in.ReadSlice('\n')
	switch {
	case err == nil && string(text) == backend.Bye+"\n":
		return "", fmt.Errorf("%w: the server ends", ErrClose)
	case err == nil:
		return string(text[:len(text)-1]), nil
	case len(text) > 0 && errors.Is(err, io.EOF):
		return "", fmt.Errorf("%w: %w", ErrCut, err)
	}
	return "", err
}

func (l *lines) Send(message string, limit time.Duration) error {
	if err := l.over.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := io.WriteString(l.over, message+"\n")
	return err
}

func (l *lines) Close() { _ = l.over.Close() } // no answers are missing
