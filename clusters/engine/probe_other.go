//go:build !linux

package engine

import "errors"

// mountOverProc returns an error: a proof's container runs Linux, and so does the program in it.
func mountOverProc() error { return errors.New("this is not Linux") }
