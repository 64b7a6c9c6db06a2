package timeline

import (
	"github.com/holdfast-ha/holdfast/framework/history"
)

// Never is a moment that does not come: the end of what lasts until the end of the record.
const Never = history.Offset(1<<63 - 1)

// Series is a value that changes over time. Each point holds from its At until the At of the next one, which is excluded.
// Points are ordered by At; of points with the same At, all but the last hold for no time.
type Series[T any] []Point[T]

// Point is a value from a moment on.
type Point[T any] struct {
	At    history.Offset
	Value T
}

// Any reports whether the series had a value for which like returns true at some moment from from to to, both included. A
// point that holds for no time counts if its At is later than from, because the order of such changes is not known.
func (s Series[T]) Any(from, to history.Offset, like func(T) bool) bool {
	for i := range s {
		if s[i].At > to {
			return false
		}
		over := i+1 < len(s) && s[i+1].At <= from
		if !over && like(s[i].Value) {
			return true
		}
	}
	return false
}

// At is the value at a moment; not ok before the first point.
func (s Series[T]) At(at history.Offset) (value T, ok bool) {
	for i := range s {
		if s[i].At > at {
			break
		}
		value, ok = s[i].Value, true
	}
	return value, ok
}

// Span is the time in which something was in one state, To excluded.
type Span[S any] struct {
	State    S
	From, To history.Offset
}

// spans are the times between the changes of a state, until end. Reports of which state returns false belong to no span.
func spans[T any, S comparable](s Series[T], end history.Offset, state func(T) (S, bool)) (list []Span[S]) {
	open := false
	for i := range s {
		now, ok := state(s[i].Value)
		last := len(list) - 1
		if last >= 0 && ok && list[last].State == now && (open || list[last].To == s[i].At) {
			list[last].To, open = end, true
			continue
		}
		if open {
			list[last].To = s[i].At
		}
		if open = ok; ok {
			list = append(list, Span[S]{State: now, From: s[i].At, To: end})
		}
	}
	return list
}
