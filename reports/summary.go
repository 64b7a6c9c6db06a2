package reports

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/reports/words"
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
				word = words.Plural(uint64(n), "mutant") + " " + word
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
			text += fmt.Sprintf(" with %s left", words.Plural(uint64(again.Left), "scenario"))
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
	text = fmt.Sprintf(" %s%s of %s failed%s over %s.", apart, words.Count(failed), words.Plural(sent, "request"), asPredicted(failed, predicted),
		words.Plural(uint64(events), "disruption event"))
	if unread > 0 {
		text += fmt.Sprintf(" The requests of %s could not be read completely, so the sum is too low.", words.Plural(unread, "scenario"))
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
	return fmt.Sprintf(" (%s as predicted)", words.Count(predicted))
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
	return fmt.Sprintf(" Of %s caught, the server set a trap: %s.", words.Plural(uint64(n), "mutant"), runfolder.TrapWords)
}
