package reports

import (
	"fmt"
	"math"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/stats"
)

// moment writes an offset to the millisecond, as in the evidence of verdicts: 15.605s, 1m10s.
func moment[D ~int64](t D) string { return time.Duration(t).Round(time.Millisecond).String() }

// brief writes a duration with three digits in the unit that suits it: 870 µs, 4.2 ms, 12.3 s, 3 min 20 s.
func brief[D ~int64](of D) string {
	d := time.Duration(of)
	switch {
	case d == 0:
		return "0"
	case d < time.Millisecond:
		return strconv.FormatInt(d.Microseconds(), 10) + " µs"
	case d < time.Second:
		return threeDigits(d.Seconds()*1e3) + " ms"
	case d < 2*time.Minute:
		return threeDigits(d.Seconds()) + " s"
	}
	d = d.Round(time.Second)
	return fmt.Sprintf("%d min %d s", int(d.Minutes()), int(d.Seconds())%60)
}

func threeDigits(x float64) string {
	decimals := 0
	switch {
	case x < 9.995:
		decimals = 2
	case x < 99.95:
		decimals = 1
	}
	return trimZeros(strconv.FormatFloat(x, 'f', decimals, 64))
}

func trimZeros(text string) string {
	if !strings.Contains(text, ".") {
		return text
	}
	return strings.TrimRight(strings.TrimRight(text, "0"), ".")
}

// count writes a number with its thousands set apart: 12,000.
func count(n uint64) string {
	digits := strconv.FormatUint(n, 10)
	for i := len(digits) - 3; i > 0; i -= 3 {
		digits = digits[:i] + "," + digits[i:]
	}
	return digits
}

// percent writes a share with two significant digits: 0.025 %, 2.1 %, 50 %.
func percent(share float64) string {
	p := share * 100
	if p == 0 {
		return "0 %"
	}
	decimals := max(0, 1-int(math.Floor(math.Log10(p))))
	return trimZeros(strconv.FormatFloat(p, 'f', decimals, 64)) + " %"
}

// number writes a number of a verdict with at most six significant digits, and integers in full.
func number(x float64) string {
	if x == math.Trunc(x) && math.Abs(x) < 1e15 {
		sign := ""
		if x < 0 {
			sign = "-"
		}
		return sign + count(uint64(math.Abs(x)))
	}
	return strconv.FormatFloat(x, 'g', 6, 64)
}

// plural writes "1 pod", "2 pods".
func plural(n uint64, one string) string {
	if n == 1 {
		return "1 " + one
	}
	if strings.HasSuffix(one, "s") || strings.HasSuffix(one, "ch") {
		return count(n) + " " + one + "es"
	}
	return count(n) + " " + one + "s"
}

// meaning says what the requests of a scenario prove.
func (s *Scenario) meaning() string {
	if s.Result == NotBegun {
		return ""
	}
	return s.seenByClients() + s.maskedByGateway()
}

// maskedByGateway says which failures clients did not see because a gateway tried again; empty without a gateway.
func (s *Scenario) maskedByGateway() string {
	var tries, masked uint64
	for i := range s.Lanes {
		tries += s.Lanes[i].GatewayTries
		masked += s.Lanes[i].MaskedByGateway
	}
	own := ""
	if g := s.Gateway; g != nil {
		own = fmt.Sprintf(" By its own count the gateway received %s, made %s, masked %s and failed %s.", plural(g.Requests, "request"),
			plural(g.Tries, "attempt"), count(g.Masked), count(g.Failed))
	}
	if tries == 0 {
		return own
	}
	return fmt.Sprintf(" The gateway masked failures of %s, which succeeded only because it tried another upstream; it made %s for all requests that were answered.",
		plural(masked, "request"), plural(tries, "attempt")) + own
}

func (s *Scenario) seenByClients() string {
	n, failed := s.Sent(), s.Failed()
	events := uint64(s.Disruptions.Total())
	over := fmt.Sprintf("over %s (%s, %s)", plural(events, "disruption event"),
		plural(uint64(s.Disruptions.PodTerminations), "pod termination"),
		plural(uint64(s.Disruptions.NodeLosses), "node loss"))
	switch {
	case n == 0 && len(s.Lanes) == 0:
		return "This scenario has no load. It is judged by scheduling and evictions."
	case n == 0:
		return "No request was sent."
	case failed > 0:
		return fmt.Sprintf("%s of %s requests failed (%s) %s.", count(failed), count(n),
			percent(float64(failed)/float64(n)), over)
	}
	bound, _ := s.bounds95()
	text := fmt.Sprintf("0 of %s requests failed %s. 0 of N is not zero: with 95 %% confidence at most %s of such requests fail",
		count(n), over, percent(*bound))
	if len(s.Lanes) > 1 {
		text += " on a lane"
	}
	text += ", if they are independent"
	if events > 0 {
		text += fmt.Sprintf(", and at most %s of such disruptions fail a request", percent(stats.UpperBound95(events)))
	}
	return text + "."
}
