package history

import (
	"fmt"
	"strings"
	"testing"
)

func TestCleanText(t *testing.T) {
	long := strings.Repeat("é", maxTextBytes) // two bytes each
	tests := map[string]struct{ in, want string }{
		"clean stays":       {"read tcp: connection reset, \"é\"", "read tcp: connection reset, \"é\""},
		"lines":             {"one\r\ntwo\x00\x7f", "one  two  "},
		"not UTF-8":         {"a\xffb", "a\uFFFDb"},
		"long":              {long, long[:maxTextBytes]},
		"long and odd":      {"a" + long, "a" + long[:maxTextBytes-2]},
		"long by replacing": {strings.Repeat("\xff", maxTextBytes), strings.Repeat("\uFFFD", maxTextBytes/3)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := cleanText(test.in)
			if got != test.want {
				t.Errorf("got %.60q (%d bytes), want %.60q (%d bytes)", got, len(got), test.want, len(test.want))
			}
			if again := cleanText(got); again != got {
				t.Errorf("cleaning %.60q again gives %.60q", got, again)
			}
		})
	}
}

func TestTextsThatShareASlotAreKeptApart(t *testing.T) {
	var kept textCache
	const hash = 7
	for i := range 100 {
		want := fmt.Sprint(i % 3)
		if got := kept.get([]byte(want), hash); got != want {
			t.Fatalf("got %q, want %q", got, want)
		}
	}
}
