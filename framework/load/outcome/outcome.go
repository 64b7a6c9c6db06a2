// Package outcome names how a request failed, from the error that it ended with and how far it got.
//
// It sends nothing.
package outcome

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"slices"
	"strings"
	"syscall"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/dial"
)

// Stage is how far a request got before it failed.
type Stage int

// The stages, in their order.
const (
	Connecting Stage = iota // there is no connection yet
	Waiting                 // the request was written, or was about to be
	Reading                 // the response has begun
)

// Of returns the outcome of a failed request.
func Of(err error, at Stage) history.Outcome {
	_, handshake := errors.AsType[*dial.HandshakeError](err)
	switch {
	case IsAny(err, syscall.EMFILE, syscall.ENFILE, syscall.EADDRNOTAVAIL, syscall.ENOBUFS, syscall.ENOMEM):
		return history.Unsent // this machine ran out of a resource, which says nothing about the server
	case IsAny(err, syscall.ECONNREFUSED):
		return history.Refused
	case IsAny(err, syscall.ECONNRESET, syscall.EPIPE, syscall.ECONNABORTED):
		return history.Reset
	case IsAny(err, syscall.EHOSTUNREACH, syscall.ENETUNREACH, syscall.EHOSTDOWN, syscall.ENETDOWN):
		return history.Unreachable
	case strings.Contains(err.Error(), "GOAWAY"): // net/http does not export the type
		return history.GoAway
	case errors.As(err, new(streamError)):
		return history.Reset
	case TimedOut(err):
		return [...]history.Outcome{history.TimeoutConnect, history.TimeoutResponse, history.Stall}[at]
	case handshake && IsAny(err, io.EOF, io.ErrUnexpectedEOF):
		return history.ClosedEarly // there was a connection
	case IsAny(err, io.EOF, io.ErrUnexpectedEOF):
		return [...]history.Outcome{history.Other, history.ClosedEarly, history.Truncated}[at]
	case handshake, alert(err):
		return history.BadTLS
	default:
		return history.Other
	}
}

// IsAny reports whether an error is one of others.
func IsAny[E error](err error, others ...E) bool {
	return slices.ContainsFunc(others, func(other E) bool { return errors.Is(err, other) })
}

// alert reports whether an error is what a server said in TLS of why it ends the connection, possibly long after the handshake: a server
// that wants the certificate of its client says so when the client believes that the handshake is over.
func alert(err error) bool {
	op, is := errors.AsType[*net.OpError](err)
	return is && op.Op == "remote error" // package tls does not export the type of alerts
}

// streamError has the fields of net/http's unexported stream error, so errors.As matches that error.
type streamError struct {
	StreamID, Code uint32
	Cause          error
}

func (e streamError) Error() string { return fmt.Sprintf("stream error %d", e.Code) }

// lostPing is net/http's error for an HTTP/2 connection on which a ping was not answered in time.
const lostPing = "http2: client connection lost"

// TimedOut reports whether an error is that of a time-out.
func TimedOut(err error) bool {
	if err.Error() == lostPing {
		return true
	}
	var timer interface{ Timeout() bool }
	return errors.Is(err, context.DeadlineExceeded) || errors.As(err, &timer) && timer.Timeout()
}

// Text returns an error's text without addresses and stream numbers, so that equal errors have equal texts. The row has
// the address.
func Text(err error) string {
	if kind, rest, ok := strings.Cut(err.Error(), ": stream ID "); ok {
		_, rest, _ = strings.Cut(rest, "; ")
		return kind + ": " + rest
	}
	if before, after, ok := strings.Cut(err.Error(), "; LastStreamID="); ok {
		_, after, _ = strings.Cut(after, ", ")
		return before + ": " + after
	}
	op, ok := errors.AsType[*net.OpError](err)
	if !ok || op.Err == nil {
		return err.Error()
	}
	if call, ok := errors.AsType[*os.SyscallError](op.Err); ok {
		return call.Error()
	}
	return op.Op + ": " + op.Err.Error()
}
