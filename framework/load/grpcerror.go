package load

import (
	"context"
	"fmt"

	"google.golang.org/grpc/codes"
	"google.golang.org/grpc/status"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
)

// failed classifies a failed call: by the deadline, by the server's answer, by the text of gRPC's error, and otherwise by how its
// connection, or the attempt to make one, failed.
func (s *callSender) failed(err error) {
	c, told := s.call, status.Convert(err)
	at := outcome.Connecting
	if c.attempts > 0 {
		at = outcome.Waiting
	}
	if c.head {
		at = outcome.Reading
	}
	s.row.Outcome = history.Other
	s.row.Err = fmt.Sprintf("grpc %s: %s", told.Code(), told.Message())
	switch cause := context.Cause(s.deadline.Ctx); {
	case cause != nil && (told.Code() == codes.Canceled || told.Code() == codes.DeadlineExceeded || at == outcome.Connecting):
		s.row.Outcome, s.row.Err = outcome.Of(cause, at), cause.Error()
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
	found, known := outcome.OfGRPC(told.Message(), func(o history.Outcome) bool { return o == history.Truncated || o == history.WrongBody })
	if known {
		s.row.Outcome = found
	}
	return known
}

func (s *callSender) failedUnderWay(told *status.Status, at outcome.Stage) {
	found, known := outcome.OfGRPC(told.Message(), func(o history.Outcome) bool { return o != history.Truncated || s.call.head })
	if known {
		s.row.Outcome = found
		return
	}
	var why error
	switch undone := s.through.undone.Load(); {
	case s.call.last != nil:
		why = s.call.last.Broke()
	case undone != nil:
		why = undone.error
		s.row.Addr = dialled(why)
	}
	if why != nil {
		s.row.Outcome, s.row.Err = outcome.Of(why, at), "grpc "+told.Code().String()+": "+outcome.Text(why)
	}
}
