package compiler

import (
	"errors"
	"go/parser"
	"go/token"
	"testing"
	"testing/synctest"
	"time"
)

// The pace is that of the faster of two tries, with a source that compiles.
func TestPace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		tries := 0
		pace := Pace(func(_, file string) error {
			if _, err := parser.ParseFile(token.NewFileSet(), file, nil, 0); err != nil {
				t.Error(err)
			}
			tries++
			<-time.After(time.Duration(4-tries) * Took)
			return nil
		})
		if pace != 2 || tries != 2 {
			t.Errorf("pace %v after %d tries", pace, tries)
		}
	})
	if pace := Pace(func(string, string) error { return errors.New("no such tool") }); pace != 0 {
		t.Errorf("without a compiler: pace %v", pace)
	}
}
