package load

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"
	"time"
)

// The backend's names for its stream.
const (
	streamPath     = "stream"
	streamProtocol = "holdfast-stream"
	byeLine        = "bye"
)

const maxMessageBytes = 4096

// hostOf returns the address and the path of a target.
func hostOf(target string) (address, path string, err error) {
	u, err := url.Parse(target)
	if err != nil {
		return "", "", err
	}
	address = u.Host
	if u.Port() == "" {
		address += ":80"
	}
	return address, strings.TrimSuffix(u.Path, "/") + "/", nil
}

// lines carries messages as lines of text, after an HTTP/1.1 upgrade.
type lines struct {
	conn *conn
	in   *bufio.Reader
}

func openLines(ctx context.Context, c *conn, target string) (line, int, error) {
	address, path, err := hostOf(target)
	if err != nil {
		return nil, 0, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+address+path+streamPath, nil)
	if err != nil {
		return nil, 0, err
	}
	r.Header = http.Header{"Connection": {"Upgrade"}, "Upgrade": {streamProtocol}, "User-Agent": {"holdfast"}}
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
	c.introduce(answer.Header)
	return &lines{c, in}, 0, nil
}

// introduce stores the server that answers, from the headers of its response.
func (c *conn) introduce(h http.Header) {
	c.who.Store(&server{pod: h.Get(headerPod), node: h.Get(headerNode), zone: h.Get(headerZone), revision: h.Get(headerRevision)})
}

func (l *lines) hear() (string, error) {
	text, err := l.in.ReadSlice('\n')
	switch {
	case err == nil && string(text) == byeLine+"\n":
		return "", fmt.Errorf("%w: the server ends", errGoodbye)
	case err == nil:
		return string(text[:len(text)-1]), nil
	case len(text) > 0 && errors.Is(err, io.EOF):
		return "", fmt.Errorf("%w: %w", errCut, err)
	}
	return "", err
}

func (l *lines) say(message string, limit time.Duration) error {
	if err := l.conn.SetWriteDeadline(time.Now().Add(limit)); err != nil {
		return err
	}
	_, err := io.WriteString(l.conn, message+"\n")
	return err
}

func (l *lines) leave() { _ = l.conn.Close() } // no answers are missing
