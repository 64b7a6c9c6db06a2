package words

import (
	"strings"
	"testing"
)

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
