package prose

import (
	"strings"
	"testing"
	"time"
)

func TestNumbersForReports(t *testing.T) {
	for _, test := range []struct{ got, want string }{
		{Brief(time.Duration(0)), "0"},
		{Brief(870 * time.Microsecond), "870 µs"},
		{Brief(4214 * time.Microsecond), "4.21 ms"},
		{Brief(42149 * time.Microsecond), "42.1 ms"},
		{Brief(421490 * time.Microsecond), "421 ms"},
		{Brief(12 * time.Second), "12 s"},
		{Brief(119 * time.Second), "119 s"},
		{Brief(3*time.Minute + 20*time.Second), "3 min 20 s"},
		{Brief(61*time.Minute + 59500*time.Millisecond), "62 min 0 s"},
		{Moment(15605*time.Millisecond + 1), "15.605s"},
		{Thousands(0), "0"},
		{Thousands(999), "999"},
		{Thousands(12000), "12,000"},
		{Thousands(1234567), "1,234,567"},
		{Share(0), "0 %"},
		{Share(0.00025), "0.025 %"},
		{Share(0.0212), "2.1 %"},
		{Share(0.5), "50 %"},
		{Share(1), "100 %"},
		{Share(0.0000001), "0.00001 %"},
		{Number(12000), "12,000"},
		{Number(-3), "-3"},
		{Number(15.605), "15.605"},
		{Number(0.00025), "0.00025"},
		{Counted(1, "pod"), "1 pod"},
		{Counted(2000, "node loss"), "2,000 node losses"},
	} {
		if test.got != test.want {
			t.Errorf("%q, want %q", test.got, test.want)
		}
	}
}

func TestMarkdownEscapes(t *testing.T) {
	for in, want := range map[string]string{
		"a|b":             `a\|b`,
		"<script>":        "&lt;script&gt;",
		"*x* _y_ `z` [l]": "\\*x\\* \\_y\\_ \\`z\\` \\[l\\]",
		"two\nlines":      "two lines",
		"a & b":           "a &amp; b",
	} {
		if got := MarkdownText(in); got != want {
			t.Errorf("text(%q) = %q, want %q", in, got, want)
		}
	}
	if got := MarkdownCode("a`b|c"); got != "`a'b\\|c`" {
		t.Errorf("code: %s", got)
	}
	if got := MarkdownFence("```\nrm"); !strings.HasPrefix(got, "````sh\n") || !strings.HasSuffix(got, "\n````") {
		t.Errorf("fence: %s", got)
	}
}
