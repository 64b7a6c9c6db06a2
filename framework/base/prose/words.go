package prose

import (
	"fmt"
	"maps"
	"math"
	"slices"
	"strconv"
	"strings"
	"time"
)

// Moment formats an offset for readers, to the millisecond.
func Moment[D ~int64](t D) string { return time.Duration(t).Round(time.Millisecond).String() }

// Count writes "1 pod", "3 pods".
func Count[N ~int | ~uint64](n N, what string) string {
	if n == 1 {
		return "1 " + what
	}
	if stem, ok := strings.CutSuffix(what, "ss"); ok {
		return fmt.Sprintf("%d %ssses", n, stem)
	}
	return fmt.Sprintf("%d %ss", n, what)
}

// Percent formats a share with three significant digits: "33.3 %", "0.05 %".
func Percent(share float64) string {
	const digits = 3
	v := share * 100
	if v <= 0 {
		return "0 %"
	}
	decimals := max(0, digits-1-int(math.Floor(math.Log10(v))))
	text := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Contains(text, ".") {
		text = strings.TrimRight(strings.TrimRight(text, "0"), ".")
	}
	return text + " %"
}

// List writes "a", "a and b", "a, b and c".
func List[S ~string](words []S) string {
	texts := make([]string, len(words))
	for i, w := range words {
		texts[i] = string(w)
	}
	if n := len(texts); n > 1 {
		return strings.Join(texts[:n-1], ", ") + " and " + texts[n-1]
	}
	return strings.Join(texts, "")
}

// Few is List of the first words, with the number of the others.
func Few[S ~string](words []S, most int) string {
	if more := len(words) - most; more > 0 {
		return List(append(words[:most:most], S(fmt.Sprintf("%d more", more))))
	}
	return List(words)
}

// First are the first lines, and how many more there are.
func First(lines []string, most int) []string {
	if more := len(lines) - most; more > 0 {
		return append(lines[:most:most], fmt.Sprintf("and %d more", more))
	}
	return lines
}

// Amounts formats counts as "a=2 b=1", sorted by name.
func Amounts(of map[string]int) string {
	parts := make([]string, 0, len(of))
	for _, name := range slices.Sorted(maps.Keys(of)) {
		parts = append(parts, fmt.Sprintf("%s=%d", name, of[name]))
	}
	return strings.Join(parts, " ")
}

// OnLanes names the lanes of a promise; "any lane" for none.
func OnLanes[L ~string](lanes []L) string {
	switch len(lanes) {
	case 0:
		return "any lane"
	case 1:
		return "lane " + string(lanes[0])
	}
	return "lanes " + List(lanes)
}

// Shorten cuts a text after a word, so that at most so many bytes are left, and marks the cut with " ...".
func Shorten(text string, most int) string {
	if len(text) <= most {
		return text
	}
	if end := strings.LastIndexByte(text[:most], ' '); end > 0 {
		return text[:end] + " ..."
	}
	return text[:most] + " ..."
}
