package outcome

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
)

func TestClassify(t *testing.T) {
	failed := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	tests := []struct {
		err  error
		at   Stage
		want history.Outcome
	}{
		{failed(syscall.ECONNREFUSED), Connecting, history.Refused},
		{failed(syscall.EHOSTUNREACH), Connecting, history.Unreachable},
		{failed(syscall.ENETUNREACH), Connecting, history.Unreachable},
		{failed(syscall.ETIMEDOUT), Connecting, history.TimeoutConnect},
		{failed(syscall.ECONNRESET), Connecting, history.Reset},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, Connecting, history.Other},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, Connecting, history.TimeoutConnect},
		{passed{}, Connecting, history.TimeoutConnect},
		{passed{}, Waiting, history.TimeoutResponse},
		{passed{}, Reading, history.Stall},
		{context.DeadlineExceeded, Waiting, history.TimeoutResponse},
		{fmt.Errorf("wrapped: %w", syscall.ECONNRESET), Waiting, history.Reset},
		{fmt.Errorf("wrapped: %w", syscall.EPIPE), Waiting, history.Reset},
		{syscall.ECONNRESET, Reading, history.Reset},
		{io.EOF, Waiting, history.ClosedEarly},
		{io.ErrUnexpectedEOF, Waiting, history.ClosedEarly},
		{io.ErrUnexpectedEOF, Reading, history.Truncated},
		{errors.New("malformed HTTP response"), Waiting, history.Other},
		// A handshake was on a connection that was there.
		{&dial.HandshakeError{Err: io.EOF}, Connecting, history.ClosedEarly},
		{&dial.HandshakeError{Err: context.DeadlineExceeded}, Connecting, history.TimeoutConnect},
		{&dial.HandshakeError{Err: syscall.ECONNRESET}, Connecting, history.Reset},
		{&dial.HandshakeError{Err: &tls.CertificateVerificationError{Err: errors.New("x509: expired")}}, Connecting, history.BadTLS},
		{&dial.HandshakeError{Err: errors.New("tls: no version in common")}, Connecting, history.BadTLS},
		{&net.OpError{Op: "remote error", Err: errors.New("tls: certificate required")}, Reading, history.BadTLS},
		// What this machine lacks says nothing about the server.
		{failed(syscall.EMFILE), Connecting, history.Unsent},
		{failed(syscall.EADDRNOTAVAIL), Connecting, history.Unsent},
	}
	for _, tt := range tests {
		if got := Of(tt.err, tt.at); got != tt.want {
			t.Errorf("%v at stage %d is %q, want %q", tt.err, tt.at, got, tt.want)
		}
	}
}

func TestErrorTextHasNoPorts(t *testing.T) {
	err := fmt.Errorf("get: %w", &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 53422}, Addr: &net.TCPAddr{Port: 80},
		Err: os.NewSyscallError("read", syscall.ECONNRESET),
	})
	if got, want := Text(err), "read: connection reset by peer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err = &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 80}, Err: os.ErrDeadlineExceeded}
	if got, want := Text(err), "dial: i/o timeout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := Text(io.EOF), "EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}

// passed is the error of a time-out.
type passed struct{}

func (passed) Error() string { return "the time-out passed" }
func (passed) Timeout() bool { return true }
