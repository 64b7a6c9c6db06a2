package prose

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// What follows is for the readers of reports: counts have their thousands set apart, and shares have two digits.

// Brief writes a duration with three digits in the unit that suits it: 870 µs, 4.2 ms, 12.3 s, 3 min 20 s.
func Brief[D ~int64](of D) string {
	d := time.Duration(of)
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return ThreeDigits(d.Seconds()*1e3) + " ms"
	case d < 2*time.Minute:
		return ThreeDigits(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

// ThreeDigits writes a number below a thousand with at most three significant digits.
func ThreeDigits(x float64) string {
	decimals := 0
	switch {
	case x < 9.995:
		decimals = 2
	case x < 99.95:
		decimals = 1
	}
	return TrimZeros(strconv.FormatFloat(x, 'f', decimals, 64))
}

// TrimZeros removes the zeros behind a decimal point, and a point with nothing behind it.
func TrimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// Thousands writes a number with its thousands set apart: 12,000.
func Thousands(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Share writes a share with two significant digits: 0.025 %, 2.1 %, 50 %.
func Share(share float64) string {
	p := share * 100
	if p == 0 {
		return "0 %"
	}
	decimals := max(0, 1-int(math.Floor(math.Log10(p))))
	return TrimZeros(strconv.FormatFloat(p, 'f', decimals, 64)) + " %"
}

// Number writes a number of a verdict with at most six significant digits, and integers in full.
func Number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		sign := ""
		if x < 0 {
			sign = "-"
		}
		return sign + Thousands(uint64(math.Abs(x)))
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// Counted writes "1 pod", "2 pods".
func Counted(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") || strings.HasSuffix(one, "ch") {
		return Thousands(n) + " " + one + "es"
	}
	return Thousands(n) + " " + one + "s"
}

// markdownSyntax has every character that could begin markup, end a table's cell, or mention a user.
var markdownSyntax = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[",
	"]", "\\]", "#", "\\#", "~", "\\~", "@", "@\u200b", "\r", " ", "\n", " ",
)

// MarkdownText makes recorded words plain text on one line.
func MarkdownText(s string) string { return markdownSyntax.Replace(s) }

// MarkdownCode makes recorded words a code span; a backtick, which would end it, becomes an apostrophe.
func MarkdownCode(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ", "|", "\\|").Replace(s) + "`"
}

// MarkdownFence makes recorded words a code block that they cannot end.
func MarkdownFence(s string) string {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "sh\n" + s + "\n" + ticks
}
