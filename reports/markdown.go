package reports

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// maxMarkdownBytes bounds report.md. GitHub Actions refuses a job summary of more than 1 MiB, and half of that is left to the other steps
// of a job.
const maxMarkdownBytes = 512 << 10

// writeMarkdown writes report.md in GitHub's flavour: a table of all scenarios, then the details of those that did not hold.
func writeMarkdown(w io.Writer, r Report) error {
	var b strings.Builder
	markdownHead(&b, r)
	markdownTable(&b, r)
	markdownFaults(&b, r)
	markdownCauses(&b, r)
	markdownConfusion(&b, r.matrix())
	left := 0
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Result.Good() || s.Result == NotBegun {
			continue
		}
		if part := markdownDetails(s); b.Len()+len(part) <= maxMarkdownBytes {
			b.WriteString(part)
		} else {
			left++
		}
	}
	if left > 0 {
		fmt.Fprintf(&b, "\nThe details of %s more are in report.html, because they do not fit in here.\n",
			plural(uint64(left), "scenario"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// mark is a result behind its symbol.
func mark(r Result) string { return shape(r) + " " + string(r) }

// shape is the symbol of a result, so that readers need not tell results apart by colour.
func shape(r Result) string {
	switch {
	case r == Escaped:
		return "➖"
	case r.Good():
		return "✅"
	case r.Broken():
		return "❌"
	case r == Interrupted || r == NotBegun:
		return "⏹️"
	}
	return "❔"
}

func markdownHead(b *strings.Builder, r Report) {
	fmt.Fprintf(b, "## %s: holdfast run %s\n\n", mark(r.Result), code(r.RunID))
	fmt.Fprintf(b, "%s\n\n", r.summary())
	var facts []string
	for _, f := range []struct{ name, value string }{
		{"Kubernetes", r.Cluster.Kubernetes}, {"profile", r.Profile}, {"seed", r.seed()}, {"holdfast", r.Holdfast},
	} {
		if f.value == "" {
			f.value = "unknown"
		}
		facts = append(facts, f.name+" "+text(f.value))
	}
	b.WriteString(strings.Join(facts, ", "))
	if r.Cluster.ProxyMode != "" {
		fmt.Fprintf(b, ", kube-proxy in %s mode", text(r.Cluster.ProxyMode))
	}
	if r.Took > 0 {
		fmt.Fprintf(b, ", took %s", brief(r.Took))
	}
	b.WriteString("\n")
	for _, what := range r.Trouble {
		fmt.Fprintf(b, "\n> [!WARNING]\n> %s\n", text(what))
	}
	if i := r.Incident; i != nil {
		fmt.Fprintf(b, "\n### Incident %s\n\n%s\n\n- **Symptom**: %s\n- **Cause**: %s\n- **Fix**: %s\n- **Proof**: the scenarios below\n",
			text(i.Name), text(i.Story), text(i.Symptom), text(i.Cause), text(i.Fix))
	}
}

// seed is the run's seed in words; empty if it is not known. No run has the seed 0.
func (r *Report) seed() string {
	if r.Seed == 0 {
		return ""
	}
	return strconv.FormatUint(r.Seed, 10)
}

// Line is the result and the summary of the run in one line.
func (r *Report) Line() string { return strings.ToLower(string(r.Result)) + ": " + r.summary() }

// summary counts results, requests and disruptions in one sentence.
func (r *Report) summary() string {
	var parts []string
	for _, result := range []Result{Held, Violated, Unknown, Caught, Missed, Escaped, Unsupported, Interrupted, NotBegun} {
		if n := r.Count(result); n > 0 {
			word := strings.ToLower(string(result))
			if result == Caught || result == Missed || result == Escaped {
				word = plural(uint64(n), "mutant") + " " + word
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
	return text + r.requests()
}

// requests is the sum of the requests of all scenarios but mutants, and says how many scenarios could not be read completely. It is empty
// if there are no such scenarios. The requests of a mutant are meant to fail, so they would distort the sum.
func (r *Report) requests() (text string) {
	var sent, failed, unread uint64
	events, good := 0, 0
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Mutant != nil {
			continue
		}
		good++
		sent, failed, events = sent+s.Sent(), failed+s.Failed(), events+s.Disruptions.Total()
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
	text = fmt.Sprintf(" %s%s of %s failed over %s.", apart, count(failed), plural(sent, "request"), plural(uint64(events), "disruption event"))
	if unread > 0 {
		text += fmt.Sprintf(" The requests of %s could not be read completely, so the sum is too low.", plural(unread, "scenario"))
	}
	return text
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
	return fmt.Sprintf(" Of %s caught, the server set a trap: %s.", plural(uint64(n), "mutant"), history.TrapWords)
}

func markdownTable(b *strings.Builder, r Report) {
	b.WriteString("\n| | scenario | requests | failed | disruptions | at most, 95 % | p99 | sent late: p50, p99, max |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		row := s.figures()
		fmt.Fprintf(b, "| %s | **%s**<br>%s%s | %s | %s | %s | %s | %s | %s |\n", mark(s.Result), text(s.Name), text(s.Claim), text(s.mutantNotes("; ", "")),
			row.Requests, row.Failed, row.Disruptions, row.Bound, row.P99, row.Lag)
	}
	b.WriteString("\n0 of N is not zero: \"at most, 95 %\" is the share of requests that may fail although none did, 3/N of the lane with the fewest requests, if " +
		"requests are independent. A mutant is a workload broken on purpose, which a promise must catch, so its requests are meant to fail.\n")
}

// markdownFaults lists what each fault affected. If all numbers are zero, the fault tested nothing.
func markdownFaults(b *strings.Builder, r Report) {
	const head = "\n| fault | scenario | requests in flight | pods ended | containers restarted | nodes lost |\n" +
		"| --- | --- | ---: | ---: | ---: | ---: |\n"
	var rows strings.Builder
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for j := range s.Faults {
			met := s.Faults[j].Affected
			requests := "–"
			if len(s.Lanes) > 0 {
				requests = count(met.RequestsInFlight)
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %d | %d | %d |\n", text(s.Faults[j].Name), text(s.Name), requests,
				met.PodTerminations, met.PodRestarts, met.NodeLosses)
		}
	}
	const why = "\nWhat each fault affected, from its beginning until it was reverted.\n"
	switch {
	case rows.Len() == 0:
	case b.Len()+len(head)+rows.Len()+len(why) > maxMarkdownBytes/2:
		b.WriteString("\nWhat each fault affected is in report.html, because it does not fit in here.\n")
	default:
		b.WriteString(head + rows.String() + why)
	}
}

// figures are the numbers of a row of the overview, as text; a dash if there is no number.
type figures struct {
	Requests, Failed, Disruptions, Bound, P99, Lag string
}

func (s *Scenario) figures() figures {
	f := figures{Requests: "–", Failed: "–", Disruptions: "–", Bound: "–", P99: "–", Lag: "–"}
	if len(s.Lanes) > 0 {
		f.Requests, f.Failed = count(s.Sent()), count(s.Failed())
		f.Disruptions = count(uint64(s.Disruptions.Total()))
	}
	if bound, _ := s.bounds95(); bound != nil {
		f.Bound = percent(*bound)
	}
	if p99 := s.P99(); p99 > 0 {
		f.P99 = brief(p99)
	}
	if s.Sent() > 0 {
		lag := s.Lag()
		f.Lag = brief(lag.P50) + ", " + brief(lag.P99) + ", " + brief(lag.Max)
	}
	return f
}

func markdownDetails(s *Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n**%s**\n", mark(s.Result), text(s.Name), text(s.Claim), text(s.Why))
	if s.Mutant != nil {
		fmt.Fprintf(&b, "\nMutant: without %s, must be caught by %s; its twin is %s.%s\n", text(s.Mutant.Removed),
			code(s.Mutant.CaughtBy), code(s.Mutant.Twin), text(s.mutantNotes(" ", ".")))
	}
	fmt.Fprintf(&b, "\n%s\n", text(s.meaning()))
	for i := range s.Verdicts {
		markdownVerdict(&b, &s.Verdicts[i])
	}
	if s.APIAway != nil {
		fmt.Fprintf(&b, "\nAPI server unavailable: %s.\n", text(s.APIAway.String()))
	}
	if noise := s.noiseInWords(); noise != "" {
		fmt.Fprintf(&b, "\nThe harness itself: %s.\n", text(noise))
	}
	for _, what := range s.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", text(what))
	}
	if s.Reproduce != "" {
		fmt.Fprintf(&b, "\n%s\n", fence(s.Reproduce))
	}
	return b.String()
}

func markdownVerdict(b *strings.Builder, v *Verdict) {
	at := ""
	if v.At > 0 {
		at = ", at " + moment(v.At)
	}
	fmt.Fprintf(b, "\n- %s **%s** (%s%s): %s\n", mark(resultOf(v.Outcome)), text(v.Promise), code(v.Kind), at, text(v.Seen))
	if v.Outcome == verdict.Held {
		return
	}
	for _, line := range v.Evidence {
		fmt.Fprintf(b, "  - %s\n", text(line))
	}
	var numbers []string
	for _, key := range slices.Sorted(maps.Keys(v.Numbers)) {
		numbers = append(numbers, fmt.Sprintf("%s %s", key, number(v.Numbers[key])))
	}
	if len(numbers) > 0 {
		fmt.Fprintf(b, "  - %s\n", text(strings.Join(numbers, ", ")))
	}
}

// markdownSyntax has every character that could begin markup, end a table's cell, or mention a user.
var markdownSyntax = strings.NewReplacer(
	"\\", "\\\\", "|", "\\|", "<", "&lt;", ">", "&gt;", "&", "&amp;", "*", "\\*", "_", "\\_", "`", "\\`", "[", "\\[",
	"]", "\\]", "#", "\\#", "~", "\\~", "@", "@\u200b", "\r", " ", "\n", " ",
)

// text makes recorded words plain text on one line.
func text(s string) string { return markdownSyntax.Replace(s) }

// code makes recorded words a code span; a backtick, which would end it, becomes an apostrophe.
func code(s string) string {
	if s == "" {
		return "–"
	}
	return "`" + strings.NewReplacer("`", "'", "\n", " ", "\r", " ", "|", "\\|").Replace(s) + "`"
}

// fence makes recorded words a code block that they cannot end.
func fence(s string) string {
	ticks := "```"
	for strings.Contains(s, ticks) {
		ticks += "`"
	}
	return ticks + "sh\n" + s + "\n" + ticks
}
