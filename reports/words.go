package reports

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
	"unicode"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// Line is the result and the summary of the run in one line.
func (r *Report) Line() string { return strings.ToLower(string(r.Result)) + ": " + r.Summary() }

// Summary counts results, requests and disruptions in one sentence.
func (r *Report) Summary() string {
	var parts []string
	for _, result := range []Result{Held, Violated, Unknown, Caught, Missed, Escaped, Unsupported, Interrupted, NotBegun} {
		if n := r.Count(result); n > 0 {
			word := strings.ToLower(string(result))
			if result == Caught || result == Missed || result == Escaped {
				word = prose.Counted(uint64(n), "mutant") + " " + word
			} else {
				word = fmt.Sprintf("%d %s", n, word)
			}
			parts = append(parts, word)
		}
	}
	if len(parts) == 0 {
		parts = []string{"nothing ran"}
	}
	text := strings.Join(parts, ", ") + "." + r.trapped()
	if r.Interrupted != "" {
		text += " Interrupted by " + r.Interrupted + "."
	}
	return text + r.resumptions() + r.requests()
}

// resumptions says when the run was continued; empty if it ran without an interruption.
func (r *Report) resumptions() string {
	var times []string
	for _, again := range r.Resumed {
		text := "at " + again.At.UTC().Format("2006-01-02 15:04 UTC")
		if again.Left > 0 { // a recording has one scenario, which goes on
			text += fmt.Sprintf(" with %s left", prose.Counted(uint64(again.Left), "scenario"))
		}
		if again.Holdfast != r.Holdfast {
			text += ", by holdfast " + again.Holdfast
		}
		times = append(times, text)
	}
	if len(times) == 0 {
		return ""
	}
	return " Continued after an interruption " + prose.List(times) + "."
}

// requests is the sum of the requests of all scenarios but mutants, and says how many scenarios could not be read completely. It is empty
// if there are no such scenarios. The requests of a mutant are meant to fail, so they would distort the sum.
func (r *Report) requests() (text string) {
	var sent, failed, predicted, unread uint64
	events, good := 0, 0
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Mutant != nil {
			continue
		}
		good++
		sent, failed, events = sent+s.Sent(), failed+s.Failed(), events+s.Disruptions.Total()
		predicted += s.Predicted()
		if s.Incomplete != "" {
			unread++
		}
	}
	if good == 0 {
		return ""
	}
	apart := ""
	if good < len(r.Scenarios) {
		apart = "Without the mutants: "
	}
	text = fmt.Sprintf(" %s%s of %s failed%s over %s.", apart, prose.Thousands(failed), prose.Counted(sent, "request"), asPredicted(failed, predicted),
		prose.Counted(uint64(events), "disruption event"))
	if unread > 0 {
		text += fmt.Sprintf(" The requests of %s could not be read completely, so the sum is too low.", prose.Counted(unread, "scenario"))
	}
	return text
}

// asPredicted says how many failures promises that held allow; empty if they allow none.
func asPredicted(failed, predicted uint64) string {
	switch predicted {
	case 0:
		return ""
	case failed:
		return ", as predicted,"
	}
	return fmt.Sprintf(" (%s as predicted)", prose.Thousands(predicted))
}

// trapped says how many mutants were caught with a trap; empty if none was.
func (r *Report) trapped() string {
	n := 0
	for i := range r.Scenarios {
		if s := &r.Scenarios[i]; s.Mutant != nil && s.Mutant.Trap && s.Result == Caught {
			n++
		}
	}
	if n == 0 {
		return ""
	}
	return fmt.Sprintf(" Of %s caught, the server set a trap: %s.", prose.Counted(uint64(n), "mutant"), runfolder.TrapWords)
}

// Meaning says what the requests of a scenario prove.
func (s *Scenario) Meaning() string {
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
		own = fmt.Sprintf(" By its own count the gateway received %s, made %s, masked %s and failed %s.", prose.Counted(g.Requests, "request"),
			prose.Counted(g.Tries, "attempt"), prose.Thousands(g.Masked), prose.Thousands(g.Failed))
	}
	if tries == 0 {
		return own
	}
	return fmt.Sprintf(" The gateway masked failures of %s, which succeeded only because it tried another upstream; it made %s for all requests that were answered.",
		prose.Counted(masked, "request"), prose.Counted(tries, "attempt")) + own
}

func (s *Scenario) seenByClients() string {
	n, failed := s.Sent(), s.Failed()
	switch {
	case n == 0 && len(s.Lanes) == 0:
		return "This scenario has no load. It is judged by scheduling and evictions."
	case n == 0:
		return "No request was sent."
	case failed > 0:
		return fmt.Sprintf("%s of %s requests failed (%s) over %s.", prose.Thousands(failed), prose.Thousands(n),
			prose.Share(float64(failed)/float64(n)), s.Disruptions)
	}
	requests, disruptions := s.Bounds95()
	return fmt.Sprintf("0 of %s requests failed over %s. 0 of N is not zero: %s.", prose.Thousands(n), s.Disruptions, BoundsInWords(requests, disruptions))
}

// String counts the disruptions.
func (d Disruptions) String() string {
	return fmt.Sprintf("%s (%s, %s)", prose.Counted(uint64(d.Total()), "disruption event"), prose.Counted(uint64(d.PodTerminations), "pod termination"),
		prose.Counted(uint64(d.NodeLosses), "node loss"))
}

// BoundsInWords says how many requests and disruptions may fail although none did; the bound of disruptions may be missing.
func BoundsInWords(requests, disruptions *float64) string {
	text := fmt.Sprintf("with 95 %% confidence at most %s of such requests fail on a lane, if they are independent", prose.Share(*requests))
	if disruptions != nil {
		text += fmt.Sprintf(", and at most %s of such disruptions, if they are independent too, fail a request", prose.Share(*disruptions))
	}
	return text
}

// Figures are the numbers of a row of the overview, as text; a dash if there is no number.
type Figures struct {
	Requests, Failed, Disruptions, Bound, P99, Lag string
}

// Figures are the numbers of the scenario in the overview.
func (s *Scenario) Figures() Figures {
	f := Figures{Requests: "–", Failed: "–", Disruptions: "–", Bound: "–", P99: "–", Lag: "–"}
	if len(s.Lanes) > 0 {
		f.Requests, f.Failed = prose.Thousands(s.Sent()), prose.Thousands(s.Failed())
		f.Failed += strings.TrimSuffix(asPredicted(s.Failed(), s.Predicted()), ",")
		f.Disruptions = prose.Thousands(uint64(s.Disruptions.Total()))
	}
	if bound, _ := s.Bounds95(); bound != nil {
		f.Bound = prose.Share(*bound)
	}
	if p99 := s.P99(); p99 > 0 {
		f.P99 = prose.Brief(p99)
	}
	if s.Sent() > 0 {
		lag := s.Lag()
		f.Lag = prose.Brief(lag.P50) + ", " + prose.Brief(lag.P99) + ", " + prose.Brief(lag.Max)
	}
	return f
}

// Measure is a number of a verdict in words, beside the limit that the promise sets to it.
type Measure struct {
	Name  string // such as "slowest, fresh"
	Value string // such as "870 ms"
	Limit string // such as "at most 2 s"; empty if the promise sets no limit
}

// Limited are the numbers that the promise limits.
func (v Verdict) Limited() (list []Measure) {
	for _, key := range slices.Sorted(maps.Keys(v.Limits)) {
		number, measured := v.Numbers[key]
		if !measured {
			continue
		}
		m := measure(key, number)
		if limit := v.Limits[key]; limit.AtMost != nil {
			m.Limit = "at most " + measure(key, *limit.AtMost).Value
		} else if limit.AtLeast != nil {
			m.Limit = "at least " + measure(key, *limit.AtLeast).Value
		}
		list = append(list, m)
	}
	return list
}

// Others are the numbers that the promise does not limit.
func (v Verdict) Others() (list []Measure) {
	for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
		if _, limited := v.Limits[key]; !limited {
			list = append(list, measure(key, v.Numbers[key]))
		}
	}
	return list
}

// measure writes a number in the unit that its name ends in: "lagP99Seconds.fresh" is the duration "lag p99, fresh".
func measure(key string, number float64) Measure {
	key, of, _ := strings.Cut(key, ".")
	value := prose.Number(number)
	if stem, isDuration := strings.CutSuffix(key, "Seconds"); isDuration {
		key, value = stem, prose.Brief(time.Duration(number*float64(time.Second)))
	} else if stem, isShare := strings.CutSuffix(key, "Share"); isShare && number >= 0 && number <= 1 {
		key, value = stem+"Share", prose.Share(number)
	}
	var name strings.Builder
	for _, letter := range key {
		if unicode.IsUpper(letter) {
			name.WriteByte(' ')
		}
		name.WriteRune(unicode.ToLower(letter))
	}
	if of != "" {
		name.WriteString(", " + of)
	}
	return Measure{Name: name.String(), Value: value}
}

// String is the number in one phrase: "slowest, fresh 870 ms (at most 2 s)".
func (m Measure) String() string {
	if m.Limit == "" {
		return m.Name + " " + m.Value
	}
	return m.Name + " " + m.Value + " (" + m.Limit + ")"
}

// Predicted are the failed requests that a promise allows, such as those to a node until the cluster must have noticed that it is lost.
// They are 0 unless that promise held. No failure of a scenario that did not hold, or of a mutant, is predicted.
func (s *Scenario) Predicted() (n uint64) {
	if s.Result != Held {
		return 0
	}
	for i := range s.Verdicts {
		v := &s.Verdicts[i]
		// Such a promise limits the failures outside of what it allows, and not all failures.
		if _, allows := v.Limits[FailedOutside]; allows && v.Outcome == verdict.Held {
			n = max(n, uint64(v.Numbers["failed"]))
		}
	}
	return min(n, s.Failed())
}

// FailedOutside is the number of a verdict that counts the failures that its promise does not allow.
const FailedOutside = "failedOutside"
