package invariant

import (
	"cmp"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// presence says whether something was the case when the scheduler decided.
type presence int

const (
	no presence = iota
	maybe
	sure
)

// mark is when a record told of something. Of what it told in one moment nobody knows the order: a name decides.
type mark struct {
	at   history.Offset
	name string
}

// compare orders marks.
func (m mark) compare(other mark) int {
	return cmp.Or(cmp.Compare(m.at, other.at), cmp.Compare(m.name, other.name))
}

// before tells whether the scheduler knew of m when it decided what the record tells at b. What lies within the skew it
// may have known or not. Without a skew the order of the record is believed.
func (m mark) before(b mark, skew time.Duration) presence {
	switch {
	case m == unseen:
		return no
	case skew == 0 && m.compare(b) < 0, skew > 0 && m.at <= b.at-skew:
		return sure
	case skew == 0, m.at > b.at+skew:
		return no
	}
	return maybe
}

// endedBefore is before for the end of a pod. Pods are told of by one watch in the order in which things happened to
// them, so that no end is known to the scheduler that was told after the binding.
func (m mark) endedBefore(b mark, skew time.Duration) presence {
	if m.at > b.at {
		return no
	}
	return m.before(b, skew)
}

// unseen is the mark of what a record did not tell; always, that of what was so before it began.
var unseen, always = mark{at: never}, mark{at: -never}

// not turns round whether something is so.
func (p presence) not() presence { return sure - p }
