package check

import (
	"bytes"
	"encoding/json"
	"math"
	"net/http"
	"sync/atomic"
)

// CutOff is the text of an answer that ended too early although its connection ended in order: a server that dies closes its connections as one does
// that has said all.
const CutOff = "the connection ended in the middle of what earlier answers said, and the server does not say how long its answers are"

// IsUnframed reports whether only the end of the connection ends an answer: it has neither a length nor chunks. Over HTTP/2 each answer has an end.
func IsUnframed(r *http.Response) bool {
	return r.ProtoMajor == 1 && r.ContentLength < 0 && len(r.TransferEncoding) == 0
}

// Unframed is the longest good answer of a lane of which only the end of the connection told the end.
type Unframed struct {
	text atomic.Pointer[[]byte]
	json atomic.Bool  // an answer was an object or a list in JSON
	same atomic.Int64 // answers that were like the first one; less than zero: others differed
}

// Cuts reports whether an answer is the beginning of an earlier one without the tag or bracket with which that ended, or of a text that was always the
// same, three times or more; or one of JSON where earlier ones were whole. Any other text may have become shorter. It keeps the answer if it is longer.
func (l *Unframed) Cuts(answer []byte) bool {
	trimmed, had := bytes.TrimSpace(answer), l.text.Load()
	begun := len(trimmed) > 0 && (trimmed[0] == '{' || trimmed[0] == '[')
	whole := begun && json.Valid(trimmed)
	begins := had != nil && len(answer) < len(*had) && bytes.HasPrefix(*had, answer)
	switch {
	case begins && (l.same.Load() >= 3 || lacksEnd(trimmed, bytes.TrimSpace(*had))), l.json.Load() && begun && !whole:
		return true
	case had == nil || len(answer) > len(*had):
		text := bytes.Clone(answer)
		l.text.Store(&text)
	}
	if had != nil && !bytes.Equal(answer, *had) {
		l.same.Store(math.MinInt64)
	}
	l.same.Add(1)
	if whole {
		l.json.Store(true)
	}
	return false
}

// lacksEnd reports whether a whole text ended with a tag or a bracket, and its beginning does not.
func lacksEnd(beginning, whole []byte) bool {
	last := max(0, bytes.LastIndexAny(whole, "<}]"))
	return bytes.ContainsAny(whole[max(0, len(whole)-1):], ">}]") && !bytes.HasSuffix(beginning, whole[last:])
}
