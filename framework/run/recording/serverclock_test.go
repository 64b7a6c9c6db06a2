package recording

import (
	"math/rand/v2"
	"net/http"
	"testing"
	"testing/synctest"
	"time"
)

// answers is an API server whose clock is wrong, and which takes some time for each answer.
type answers struct {
	by   time.Duration
	wait func() time.Duration
}

func (a answers) RoundTrip(*http.Request) (*http.Response, error) {
	time.Sleep(a.wait())
	date := time.Now().Add(a.by).UTC().Format(http.TimeFormat)
	time.Sleep(a.wait())
	return &http.Response{StatusCode: http.StatusOK, Header: http.Header{"Date": {date}}, Body: http.NoBody}, nil
}

// The bounds always hold the true time, and become narrow.
func TestTheServersClockIsBounded(t *testing.T) {
	for _, by := range []time.Duration{0, 3 * time.Minute, -time.Hour, 400 * time.Millisecond} {
		synctest.Test(t, func(t *testing.T) {
			random := rand.New(rand.NewPCG(1, uint64(by)))
			clock := newServerClock()
			if _, _, ok := clock.Bounds(); ok {
				t.Error("the clock is known before any answer")
			}
			through := clock.wrap(answers{by, func() time.Duration { return time.Duration(random.IntN(50)) * time.Millisecond }})
			request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, "http://api.test/version", nil)
			if err != nil {
				t.Fatal(err)
			}
			for range 300 {
				time.Sleep(time.Duration(random.IntN(3000)) * time.Millisecond)
				response, err := through.RoundTrip(request)
				if err != nil {
					t.Fatal(err)
				}
				_ = response.Body.Close()
				earliest, latest, _ := clock.Bounds()
				if now := time.Now().Add(by); now.Before(earliest) || now.After(latest) {
					t.Fatalf("%s is not between %s and %s", now, earliest, latest)
				}
			}
			earliest, latest, _ := clock.Bounds()
			if width := latest.Sub(earliest); width > 150*time.Millisecond {
				t.Errorf("the bounds are %s apart", width)
			}
			if ahead := clock.ahead(); (by > time.Second) != (ahead > 0) || (by < -time.Second) != (ahead < 0) {
				t.Errorf("a clock that is %s ahead is said to be %s", by, ahead)
			}
		})
	}
}

// Another API server, or one whose clock was set, makes the bounds wide again, and not wrong.
func TestAClockThatWasSet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		clock := newServerClock()
		base := clock.base.Truncate(time.Second)
		clock.take(0, 0, base)
		clock.take(0, 0, base.Add(time.Minute))
		earliest, latest, _ := clock.Bounds()
		if now := base.Add(time.Minute); earliest.After(now.Add(time.Second)) || latest.Before(now) || latest.Sub(earliest) > time.Second {
			t.Errorf("between %s and %s", earliest, latest)
		}
	})
}
