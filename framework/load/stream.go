package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// LaneStream is messages in lines, on connections that are kept as long as possible.
const LaneStream history.Lane = "stream"

const maxMessageBytes = 4096

// lines carries messages as lines of text, after an HTTP/1.1 upgrade.
type lines struct {
	conn *conn
	in   *bufio.Reader
}

func newStreams(l Lane, d *dialer) transport { return newBidi(l, d, openLines) }

func openLines(ctx context.Context, c *conn, at string) (messageConn, int, error) {
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+at+backend.StreamPath, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {backend.StreamProtocol}, "User-Agent": {"holdfast"}}
	if err := r.Write(c); err != nil {
		return nil, 0, err
	}
	in := bufio.NewReaderSize(c, maxMessageBytes)
	answer, err := http.ReadResponse(in, r)
	if err != nil {
		return nil, 0, err
	}
	if answer.StatusCode != http.StatusSwitchingProtocols {
		_ = answer.Body.Close()
		return nil, answer.StatusCode, errBadStatus
	}
	c.answeredBy(identity(answer.Header))
	return &lines{c, in}, 0, nil
}

func (l *lines) receive() (string, error) {
	text, err := l.in.ReadSlice('\n')
	switch {
	case err == nil && string(text) == backend.Bye+"\n":
		return "", fmt.Errorf("%w: the server ends", errCloseMessage)
	case err == nil:
		return string(text[:len(text)-1]), nil
	case len(text) > 0 && errors.Is(err, io.EOF):
		return "", fmt.Errorf("%w: %w", errCut, err)
	}
	return "", err
}

func (l *lines) send(message string, limit time.Duration) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := io.WriteString(l.conn, message+"\n")
	return err
}

func (l *lines) close() { _ = l.conn.Close() } // no answers are missing
