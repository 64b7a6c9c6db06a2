package formats

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// maxMarkdownBytes bounds report.md. GitHub Actions refuses a job summary of more than 1 MiB, and half of that is left to the other steps
// of a job.
const maxMarkdownBytes = 512 << 10

// writeMarkdown writes report.md in GitHub's flavour: a table of all scenarios, then the details of those that did not hold.
func writeMarkdown(w io.Writer, r reports.Report) error {
	var b strings.Builder
	markdownHead(&b, r)
	markdownTable(&b, r)
	markdownFaults(&b, r)
	markdownCauses(&b, r)
	markdownConfusion(&b, r.Matrix())
	markdownHeld(&b, r)
	left := 0
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Result.Good() || s.Result == reports.NotBegun {
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
			words.Plural(uint64(left), "scenario"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownHead(b *strings.Builder, r reports.Report) {
	fmt.Fprintf(b, "## %s: holdfast run %s\n\n", reports.Mark(r.Result), words.MarkdownCode(r.RunID))
	fmt.Fprintf(b, "%s\n\n", r.Summary())
	var facts []string
	for _, f := range []struct{ name, value string }{
		{"Kubernetes", r.Cluster.Kubernetes}, {"profile", r.Profile}, {"seed", r.SeedText()}, {"holdfast", r.Holdfast},
	} {
		facts = append(facts, f.name+" "+words.MarkdownText(cmp.Or(f.value, "unknown")))
	}
	b.WriteString(strings.Join(facts, ", "))
	if r.Cluster.ProxyMode != "" {
		fmt.Fprintf(b, ", kube-proxy in %s mode", words.MarkdownText(r.Cluster.ProxyMode))
	}
	if r.Took > 0 {
		fmt.Fprintf(b, ", took %s", words.Brief(r.Took))
	}
	b.WriteString("\n")
	for _, what := range r.Trouble {
		fmt.Fprintf(b, "\n> [!WARNING]\n> %s\n", words.MarkdownText(what))
	}
	if i := r.Incident; i != nil {
		fmt.Fprintf(b, "\n### Incident %s\n\n%s\n\n- **Symptom**: %s\n- **Cause**: %s\n- **Fix**: %s\n- **Proof**: the scenarios below\n",
			words.MarkdownText(i.Name), words.MarkdownText(i.Story), words.MarkdownText(i.Symptom), words.MarkdownText(i.Cause), words.MarkdownText(i.Fix))
	}
}

func markdownTable(b *strings.Builder, r reports.Report) {
	b.WriteString("\n| | scenario | requests | failed | disruptions | at most, 95 % | p99 | sent late: p50, p99, max |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		row := s.Figures()
		fmt.Fprintf(b, "| %s | **%s**<br>%s%s | %s | %s | %s | %s | %s | %s |\n", reports.Mark(s.Result), words.MarkdownText(s.Name), words.MarkdownText(s.Claim), words.MarkdownText(s.MutantNotes("; ", "")),
			row.Requests, row.Failed, row.Disruptions, row.Bound, row.P99, row.Lag)
	}
	b.WriteString("\n0 of N is not zero: \"at most, 95 %\" is the share of requests that may fail although none did, 3/N of the lane with the fewest requests, if " +
		"requests are independent. A mutant is a workload broken on purpose, which a promise must catch, so its requests are meant to fail.\n")
}

// markdownFaults lists what each fault affected. If all numbers are zero, the fault tested nothing.
func markdownFaults(b *strings.Builder, r reports.Report) {
	const head = "\n| fault | scenario | requests in flight | pods ended | containers restarted | nodes lost |\n" +
		"| --- | --- | ---: | ---: | ---: | ---: |\n"
	var rows strings.Builder
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for j := range s.Faults {
			met := s.Faults[j].Affected
			requests := "–"
			if len(s.Lanes) > 0 {
				requests = words.Count(met.RequestsInFlight)
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %d | %d | %d |\n", words.MarkdownText(s.Faults[j].Name), words.MarkdownText(s.Name), requests,
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

func markdownDetails(s *reports.Scenario) string {
	var b strings.Builder
	fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n**%s**\n", reports.Mark(s.Result), words.MarkdownText(s.Name), words.MarkdownText(s.Claim), words.MarkdownText(s.Why))
	if s.Mutant != nil {
		fmt.Fprintf(&b, "\nMutant: without %s, must be caught by %s; its twin is %s.%s\n", words.MarkdownText(s.Mutant.Removed),
			words.MarkdownCode(s.Mutant.CaughtBy), words.MarkdownCode(s.Mutant.Twin), words.MarkdownText(s.MutantNotes(" ", ".")))
	}
	markdownNotes(&b, s)
	fmt.Fprintf(&b, "\n%s\n", words.MarkdownText(s.Meaning()))
	for i := range s.Verdicts {
		markdownVerdict(&b, &s.Verdicts[i])
	}
	for _, r := range s.Remedies {
		title := r.Title()
		fmt.Fprintf(&b, "\n%s: %s\n", words.MarkdownText(strings.ToUpper(title[:1])+title[1:]), words.MarkdownText(r.About()))
		for _, command := range r.Commands {
			fmt.Fprintf(&b, "\n%s\n", words.MarkdownFence(command))
		}
	}
	if s.APIAway != nil {
		fmt.Fprintf(&b, "\nAPI server unavailable: %s.\n", words.MarkdownText(s.APIAway.String()))
	}
	if noise := s.NoiseInWords(); noise != "" {
		fmt.Fprintf(&b, "\nThe harness itself: %s.\n", words.MarkdownText(noise))
	}
	for _, what := range s.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", words.MarkdownText(what))
	}
	if s.Reproduce != "" {
		fmt.Fprintf(&b, "\n%s\n", words.MarkdownFence(s.Reproduce))
	}
	return b.String()
}

func markdownVerdict(b *strings.Builder, v *reports.Verdict) {
	at := ""
	if v.At > 0 {
		at = ", at " + words.Moment(v.At)
	}
	fmt.Fprintf(b, "\n- %s **%s** (%s%s): %s\n", reports.Mark(reports.ResultOfOutcome(v.Outcome)), words.MarkdownText(v.Promise), words.MarkdownCode(v.Kind), at, words.MarkdownText(v.Seen))
	if limited := v.Limited(); len(limited) > 0 {
		fmt.Fprintf(b, "  - measured: %s\n", words.MarkdownText(inOneLine(limited)))
	}
	for _, line := range v.Evidence {
		fmt.Fprintf(b, "  - %s\n", words.MarkdownText(line))
	}
	if others := v.Others(); v.Outcome != verdict.Held && len(others) > 0 {
		fmt.Fprintf(b, "  - %s\n", words.MarkdownText(inOneLine(others)))
	}
}

func inOneLine(list []reports.Measure) string {
	texts := make([]string, len(list))
	for i, m := range list {
		texts[i] = m.String()
	}
	return strings.Join(texts, "; ")
}

func markdownNotes(b *strings.Builder, s *reports.Scenario) {
	for _, note := range s.Notes {
		fmt.Fprintf(b, "\nNote: %s\n", words.MarkdownText(note))
	}
}

// markdownHeld names each promise that was kept, and its evidence, folded up. It leaves half of the room to what did not hold.
func markdownHeld(b *strings.Builder, r reports.Report) {
	const begin, end = "\n<details><summary>What was promised and seen in the scenarios that held</summary>\n", "\n</details>\n"
	var held strings.Builder
	left := 0
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		if s.Result != reports.Held {
			continue
		}
		var one strings.Builder
		fmt.Fprintf(&one, "\n**%s**\n", words.MarkdownText(s.Name))
		markdownNotes(&one, s)
		for j := range s.Verdicts {
			markdownVerdict(&one, &s.Verdicts[j])
		}
		if b.Len()+held.Len()+one.Len() > maxMarkdownBytes/2 {
			left++
			continue
		}
		held.WriteString(one.String())
	}
	if left > 0 {
		fmt.Fprintf(&held, "\n%s more held; see report.html.\n", words.Plural(uint64(left), "scenario"))
	}
	if held.Len() > 0 {
		b.WriteString(begin + held.String() + end)
	}
}
