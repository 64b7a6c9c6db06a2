package backend

import (
	"bufio"
	"errors"
	"io"
	"net"
	"net/http"
	"strings"
	"time"
)

// StreamPath is an HTTP/1.1 upgrade to StreamProtocol, whose messages are lines.
const (
	StreamPath     = "/stream"
	StreamProtocol = "holdfast-stream"
)

// Bye is the last line of a server that shuts down cleanly.
const Bye = "bye"

// Stream is messages in lines of text, after an HTTP/1.1 upgrade.
func Stream(o Options, otherwise http.Handler) http.Handler {
	return o.messages(StreamPath, upgradeStream, otherwise)
}

type stream struct {
	net.Conn
	in *bufio.Reader
}

var errNoUpgrade = errors.New("no upgrade to " + StreamProtocol)

func upgradeStream(w http.ResponseWriter, r *http.Request) (messageConn, error) {
	if !strings.EqualFold(r.Header.Get("Upgrade"), StreamProtocol) || r.ProtoMajor != 1 {
		http.Error(w, errNoUpgrade.Error(), http.StatusUpgradeRequired)
		return nil, errNoUpgrade
	}
	w.Header().Set("Connection", "Upgrade")
	w.Header().Set("Upgrade", StreamProtocol)
	w.WriteHeader(http.StatusSwitchingProtocols)
	c, both, err := http.NewResponseController(w).Hijack()
	if err != nil {
		return nil, err
	}
	if err := both.Flush(); err != nil {
		return nil, errors.Join(err, c.Close())
	}
	return stream{c, bufio.NewReaderSize(both, maxMessageBytes)}, nil
}

func (s stream) receive() (string, error) {
	if err := s.SetReadDeadline(time.Now().Add(idlePatience)); err != nil {
		return "", err
	}
	line, err := s.in.ReadSlice('\n')
	return strings.TrimSuffix(string(line), "\n"), err
}

func (s stream) send(text string) error {
	if err := s.SetWriteDeadline(time.Now().Add(writePatience)); err != nil {
		return err
	}
	_, err := io.WriteString(s.Conn, text+"\n")
	return err
}

func (s stream) sendClose() { _ = s.send(Bye) } // fails only if the connection is broken

func (s stream) close() error { return s.Close() }
