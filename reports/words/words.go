// Package words writes numbers, durations and recorded text for the readers of reports. Its counts have their thousands set apart and its
// shares have two digits, because a report is read; the sentences of verdicts are written with framework/base/prose, whose figures are exact.
package words

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"
)

// Moment writes an offset to the millisecond, as in the evidence of verdicts: 15.605s, 1m10s.
func Moment[D ~int64](t D) string { return time.Duration(t).Round(time.Millisecond).String() }

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

// Count writes a number with its thousands set apart: 12,000.
func Count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// Percent writes a share with two significant digits: 0.025 %, 2.1 %, 50 %.
func Percent(share float64) string {
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
		return sign + Count(uint64(math.Abs(x)))
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// Plural writes "1 pod", "2 pods".
func Plural(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") || strings.HasSuffix(one, "ch") {
		return Count(n) + " " + one + "es"
	}
	return Count(n) + " " + one + "s"
}
