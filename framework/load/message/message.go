// Package message holds WebSockets, which carry messages both ways for as long as they last. The server is the sample backend. What
// becomes of the messages is the caller's to judge.
package message

import (
	"errors"
	"time"
)

// Conn is a connection that carries messages both ways.
type Conn interface {
	// Receive returns the next message. Its error wraps ErrClose if the server sent a close message.
	// It wraps ErrCut if the connection ended in the middle of a message.
	Receive() (string, error)
	// Send sends a message, for which it takes at most the limit.
	Send(message string, limit time.Duration) error
	// Close sends a close message, and closes the connection.
	Close()
}

// ErrClose marks an orderly end of a connection by the server.
var ErrClose = errors.New("close message")

// ErrBadStatus is returned when the server answers the opening request of a connection with another status than the expected
// one.
var ErrBadStatus = errors.New("unexpected status")

// ErrCut is returned when a connection ends in the middle of a message.
var ErrCut = errors.New("the message was cut off")

const maxBytes = 4096 // of a message
