package load

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"syscall"
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

func TestClassify(t *testing.T) {
	dial := func(errno syscall.Errno) error {
		return &net.OpError{Op: "dial", Net: "tcp", Err: os.NewSyscallError("connect", errno)}
	}
	tests := []struct {
		err  error
		at   stage
		want history.Outcome
	}{
		{dial(syscall.ECONNREFUSED), connecting, history.Refused},
		{dial(syscall.EHOSTUNREACH), connecting, history.Unreachable},
		{dial(syscall.ENETUNREACH), connecting, history.Unreachable},
		{dial(syscall.ETIMEDOUT), connecting, history.TimeoutConnect},
		{dial(syscall.ECONNRESET), connecting, history.Reset},
		{&net.DNSError{Err: "no such host", IsNotFound: true}, connecting, history.Other},
		{&net.DNSError{Err: "i/o timeout", IsTimeout: true}, connecting, history.TimeoutConnect},
		{errDeadline{}, connecting, history.TimeoutConnect},
		{errDeadline{}, waiting, history.TimeoutResponse},
		{errDeadline{}, reading, history.Stall},
		{context.DeadlineExceeded, waiting, history.TimeoutResponse},
		{fmt.Errorf("wrapped: %w", syscall.ECONNRESET), waiting, history.Reset},
		{fmt.Errorf("wrapped: %w", syscall.EPIPE), waiting, history.Reset},
		{syscall.ECONNRESET, reading, history.Reset},
		{io.EOF, waiting, history.ClosedEarly},
		{io.ErrUnexpectedEOF, waiting, history.ClosedEarly},
		{io.ErrUnexpectedEOF, reading, history.Truncated},
		{errors.New("malformed HTTP response"), waiting, history.Other},
		// What this machine lacks says nothing about the server.
		{dial(syscall.EMFILE), connecting, history.Unsent},
		{dial(syscall.EADDRNOTAVAIL), connecting, history.Unsent},
	}
	for _, tt := range tests {
		if got := classify(tt.err, tt.at); got != tt.want {
			t.Errorf("%v at stage %d is %q, want %q", tt.err, tt.at, got, tt.want)
		}
	}
}

func TestErrorTextHasNoPorts(t *testing.T) {
	err := fmt.Errorf("get: %w", &net.OpError{
		Op: "read", Net: "tcp", Source: &net.TCPAddr{Port: 53422}, Addr: &net.TCPAddr{Port: 80},
		Err: os.NewSyscallError("read", syscall.ECONNRESET),
	})
	if got, want := errorText(err), "read: connection reset by peer"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	err = &net.OpError{Op: "dial", Net: "tcp", Addr: &net.TCPAddr{Port: 80}, Err: os.ErrDeadlineExceeded}
	if got, want := errorText(err), "dial: i/o timeout"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
	if got, want := errorText(io.EOF), "EOF"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
