package backend

import (
	"context"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// TestABrokenServerAnswersNobody: a broken server exits at once or runs until SIGTERM, and never listens.
func TestABrokenServerAnswersNobody(t *testing.T) {
	for _, test := range []struct {
		broken Broken
		want   string // its error
		ends   time.Duration
	}{
		{Crash, "backend: crash requested by --broken", 2 * time.Second},
		{Hang, "", time.Hour},
	} {
		t.Run(string(test.broken), func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				ctx, cancel := context.WithTimeout(t.Context(), time.Hour) // SIGTERM
				defer cancel()
				o, began := Options{Listen: freePort(t), StartDelay: 2 * time.Second, Broken: test.broken}, time.Now()
				ended, took := make(chan error, 1), time.Duration(0)
				go func() {
					err := Run(ctx, o)
					took = time.Since(began)
					ended <- err
				}()
				time.Sleep(3 * time.Second)
				if response, err := http.Get("http://" + o.Listen + "/"); err == nil {
					_ = response.Body.Close()
					t.Error("it answers")
				}
				if text := errorText(<-ended); text != test.want || took != test.ends {
					t.Errorf("it ended after %s: %q, want %q after %s", took, text, test.want, test.ends)
				}
			})
		})
	}
}

func errorText(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}
