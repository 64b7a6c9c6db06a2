package load

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Outcomes that gRPC reports only in an error's text. It has one code, Unavailable, for everything that goes wrong on the way,
// and servers use that code too.
var grpcWords = []struct {
	words   string
	outcome history.Outcome
}{
	{"unexpected HTTP status code", history.BadStatus},
	{"received prior goaway", history.GoAway},
	{"the connection is draining", history.GoAway},
	{"RST_STREAM", history.Reset},
	{"without sending trailers", history.Truncated},
	{"unexpected EOF", history.Truncated},
	{"failed to unmarshal", history.WrongBody},
	{"larger than max", history.WrongBody},
	{"cardinality violation", history.WrongBody},
}

// failed classifies a failed call: by the deadline, by the server's answer, by the text of gRPC's error, and otherwise by how its
// connection, or the attempt to make one, failed.
func (s *callSender) failed(err error) {
	c, told := s.call, status.Convert(err)
	at := connecting
	if c.attempts > 0 {
		at = waiting
	}
	if c.head {
		at = reading
	}
	s.row.Outcome = history.Other
	s.row.Err = fmt.Sprintf("grpc %s: %s", told.Code(), told.Message())
	switch cause := context.Cause(s.deadline.ctx); {
	case cause != nil && (told.Code() == codes.Canceled || told.Code() == codes.DeadlineExceeded || at == connecting):
		s.row.Outcome, s.row.Err = classify(cause, at), cause.Error()
	case c.end && !s.unreadable(told):
		s.row.Outcome = history.BadStatus
	case !c.end:
		s.failedUnderWay(told, at)
	}
	if s.row.Outcome == history.Unsent {
		s.row.Sent = 0
	}
}

// unreadable reports whether an answer was complete but could not be read, and sets the outcome.
func (s *callSender) unreadable(told *status.Status) bool {
	for _, w := range grpcWords {
		if strings.Contains(told.Message(), w.words) && (w.outcome == history.Truncated || w.outcome == history.WrongBody) {
			s.row.Outcome = w.outcome
			return true
		}
	}
	return false
}

func (s *callSender) failedUnderWay(told *status.Status, at stage) {
	for _, w := range grpcWords {
		if strings.Contains(told.Message(), w.words) && (w.outcome != history.Truncated || s.call.head) {
			s.row.Outcome = w.outcome
			return
		}
	}
	var why error
	switch undone := s.through.undone.Load(); {
	case s.call.last != nil:
		why = s.call.last.end()
	case undone != nil:
		why = undone.error
		if op, ok := errors.AsType[*net.OpError](why); ok && op.Addr != nil {
			s.row.Addr = op.Addr.String()
		}
	}
	if why != nil {
		s.row.Outcome, s.row.Err = classify(why, at), "grpc "+told.Code().String()+": "+errorText(why)
	}
}
