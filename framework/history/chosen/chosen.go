// Package chosen keeps the objects of one kind that match a condition, so that asking for them does not mean looking at all others.
//
// It does not know what the objects are.
package chosen

import (
	"maps"
	"slices"
)

// Set has the objects that match, by their key.
type Set[T any] struct {
	matches func(T) bool
	compare func(a, b T) int
	objects map[string]T
	sorted  []T // nil: the objects have changed since
	changes int
}

// New returns an empty set of the objects that match, in an order.
func New[T any](matches func(T) bool, compare func(a, b T) int) *Set[T] {
	return &Set[T]{matches: matches, compare: compare, objects: make(map[string]T)}
}

// Take notes the present state of an object, or that it is gone. An object may match now and not later.
func (s *Set[T]) Take(key string, object T, gone bool) {
	if !gone && s.matches(object) {
		s.objects[key] = object
	} else if _, was := s.objects[key]; was {
		delete(s.objects, key)
	} else {
		return
	}
	s.sorted = nil
	s.changes++
}

// Changes counts the changes of the objects that match.
func (s *Set[T]) Changes() int { return s.changes }

// List returns the objects in order, in a slice of the caller's own.
func (s *Set[T]) List() []T {
	if s.sorted == nil {
		s.sorted = slices.SortedFunc(maps.Values(s.objects), s.compare)
	}
	return slices.Clone(s.sorted)
}
