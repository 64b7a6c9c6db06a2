package outcome

import (
	"strings"

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

// OfGRPC returns the first outcome that the text of gRPC's error names and that may be.
func OfGRPC(message string, may func(history.Outcome) bool) (history.Outcome, bool) {
	for _, w := range grpcWords {
		if strings.Contains(message, w.words) && may(w.outcome) {
			return w.outcome, true
		}
	}
	return "", false
}
