package words

import (
	"testing"
	"time"
)

const (
	sec = time.Second
	ms  = time.Millisecond
)

func TestNumbersInWords(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Brief(time.Duration(0)), "0"},
		{Brief(870 * time.Microsecond), "870 µs"},
		{Brief(4214 * time.Microsecond), "4.21 ms"},
		{Brief(42149 * time.Microsecond), "42.1 ms"},
		{Brief(421490 * time.Microsecond), "421 ms"},
		{Brief(12 * sec), "12 s"},
		{Brief(119 * sec), "119 s"},
		{Brief(3*time.Minute + 20*sec), "3 min 20 s"},
		{Brief(61*time.Minute + 59500*ms), "62 min 0 s"},
		{Moment(15605*ms + 1), "15.605s"},
		{Count(0), "0"},
		{Count(999), "999"},
		{Count(12000), "12,000"},
		{Count(1234567), "1,234,567"},
		{Percent(0), "0 %"},
		{Percent(0.00025), "0.025 %"},
		{Percent(0.0212), "2.1 %"},
		{Percent(0.5), "50 %"},
		{Percent(1), "100 %"},
		{Percent(0.0000001), "0.00001 %"},
		{Number(12000), "12,000"},
		{Number(-3), "-3"},
		{Number(15.605), "15.605"},
		{Number(0.00025), "0.00025"},
		{Plural(1, "pod"), "1 pod"},
		{Plural(2000, "node loss"), "2,000 node losses"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}
