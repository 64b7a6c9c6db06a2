package rows

import (
	"fmt"
	"strings"
	"testing"
)

func TestCleanText(t *testing.T) {
	long := strings.Repeat("é", MaxTextBytes) // two bytes each
	tests := map[string]struct{ in, want string }{
		"clean stays":       {"read tcp: connection reset, \"é\"", "read tcp: connection reset, \"é\""},
		"lines":             {"one\r\ntwo\x00\x7f", "one  two  "},
		"not UTF-8":         {"a\xffb", "a\uFFFDb"},
		"long":              {long, long[:MaxTextBytes]},
		"long and odd":      {"a" + long, "a" + long[:MaxTextBytes-2]},
		"long by replacing": {strings.Repeat("\xff", MaxTextBytes), strings.Repeat("\uFFFD", MaxTextBytes/3)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := Clean(test.in)
			if got != test.want {
				t.Errorf("got %.60q (%d bytes), want %.60q (%d bytes)", got, len(got), test.want, len(test.want))
			}
			if again := Clean(got); again != got {
				t.Errorf("cleaning %.60q again gives %.60q", got, again)
			}
		})
	}
}

func TestTextsThatShareASlotAreKeptApart(t *testing.T) {
	var kept texts
	const hash = 7
	for i := range 100 {
		want := fmt.Sprint(i % 3)
		if got := kept.get([]byte(want), hash); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
