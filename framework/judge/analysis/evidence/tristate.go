package evidence

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Presence says whether something was the case when the scheduler decided.
type Presence int

// The values of Presence.
const (
	No Presence = iota
	Maybe
	Sure
)

// Mark is when something was recorded. Events of one moment have no known order; they are ordered by name.
type Mark struct {
	At   history.Offset
	Name string
}

// Compare orders marks.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(cmp.Compare(m.At, other.At), cmp.Compare(m.Name, other.Name))
}

// Before says whether the scheduler knew of m when it made the decision that was recorded at b. Within the skew it may have known or
// not. A skew of zero trusts the order of the record.
func (m Mark) Before(b Mark, skew time.Duration) Presence {
	switch {
	case m == Unseen:
		return No
	case skew == 0 && m.Compare(b) < 0, skew > 0 && m.At <= b.At-skew:
		return Sure
	case skew == 0, m.At > b.At+skew:
		return No
	}
	return Maybe
}

// EndedBefore is Before for the end of a pod. One watch reports pods in the order of their changes, so the scheduler did not know of an
// end that was reported after the binding.
func (m Mark) EndedBefore(b Mark, skew time.Duration) Presence {
	if m.At > b.At {
		return No
	}
	return m.Before(b, skew)
}

// Unseen is the mark of something that was not recorded.
var Unseen = Mark{At: Never}

// Always is the mark of something that was so before the record began.
var Always = Mark{At: -Never}

// Not negates p.
func (p Presence) Not() Presence { return Sure - p }
