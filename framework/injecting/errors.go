package injecting

import (
	"errors"
	"fmt"
	"runtime/debug"
	"slices"
)

// Joined is errors.Join without repetitions. A record that cannot be written refuses every further event with the same error.
func Joined(errs ...error) error {
	var kept []error
	for _, err := range errs {
		if err == nil || slices.ContainsFunc(kept, func(other error) bool { return errors.Is(other, err) }) {
			continue
		}
		kept = append(kept, err)
	}
	if len(kept) == 1 {
		return kept[0]
	}
	return errors.Join(kept...)
}

// NoPanic, deferred, turns a panic into an error.
func NoPanic(err *error) {
	if r := recover(); r != nil {
		*err = fmt.Errorf("panic: %v\n%s", r, debug.Stack())
	}
}
