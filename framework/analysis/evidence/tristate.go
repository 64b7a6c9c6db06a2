package evidence

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Presence says whether something was the case when the scheduler decided.
type Presence int

const (
	No Presence = iota
	Maybe
	Sure
)

// Mark is when a record told of something. Of what it told in one moment nobody knows the order: a name decides.
type Mark struct {
	At   history.Offset
	Name string
}

// Compare orders marks.
func (m Mark) Compare(other Mark) int {
	return cmp.Or(cmp.Compare(m.At, other.At), cmp.Compare(m.Name, other.Name))
}

// Before tells whether the scheduler knew of m when it decided what the record tells at b. What lies within the skew it
// may have known or not. Without a skew the order of the record is believed.
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

// EndedBefore is before for the end of a pod. Pods are told of by one watch in the order in which things happened to
// them, so that no end is known to the scheduler that was told after the binding.
func (m Mark) EndedBefore(b Mark, skew time.Duration) Presence {
	if m.At > b.At {
		return No
	}
	return m.Before(b, skew)
}

// Unseen is the mark of what a record did not tell; always, that of what was so before it began.
var Unseen, Always = Mark{At: Never}, Mark{At: -Never}

// Not turns round whether something is so.
func (p Presence) Not() Presence { return Sure - p }
