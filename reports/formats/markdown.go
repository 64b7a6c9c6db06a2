package formats

import (
	"cmp"
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
	"github.com/holdfast-ha/holdfast/reports"
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
	markdownConfusion(&b, r.Confusion)
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
			prose.Counted(uint64(left), "scenario"))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func markdownHead(b *strings.Builder, r reports.Report) {
	fmt.Fprintf(b, "## %s: holdfast run %s\n\n", reports.Mark(r.Result), prose.MarkdownCode(r.RunID))
	fmt.Fprintf(b, "%s\n\n", r.Summary())
	var facts []string
	for _, f := range []struct{ name, value string }{
		{"Kubernetes", r.Cluster.Kubernetes}, {"profile", r.Profile}, {"seed", r.SeedText()}, {"holdfast", r.Holdfast},
	} {
		facts = append(facts, f.name+" "+prose.MarkdownText(cmp.Or(f.value, "unknown")))
	}
	b.WriteString(strings.Join(facts, ", "))
	if r.Cluster.ProxyMode != "" {
		fmt.Fprintf(b, ", kube-proxy in %s mode", prose.MarkdownText(r.Cluster.ProxyMode))
	}
	if r.Took > 0 {
		fmt.Fprintf(b, ", took %s", prose.Brief(r.Took))
	}
	b.WriteString("\n")
	for _, what := range r.Trouble {
		fmt.Fprintf(b, "\n> [!WARNING]\n> %s\n", prose.MarkdownText(what))
	}
	if i := r.Incident; i != nil {
		fmt.Fprintf(b, "\n### Incident %s\n\n%s\n\n- **Symptom**: %s\n- **Cause**: %s\n- **Fix**: %s\n- **Proof**: the scenarios below\n",
			prose.MarkdownText(i.Name), prose.MarkdownText(i.Story), prose.MarkdownText(i.Symptom), prose.MarkdownText(i.Cause), prose.MarkdownText(i.Fix))
	}
}

func markdownTable(b *strings.Builder, r reports.Report) {
	b.WriteString("\n| | scenario | requests | failed | disruptions | at most, 95 % | p99 | sent late: p50, p99, max |\n")
	b.WriteString("| --- | --- | ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		row := s.Figures()
		fmt.Fprintf(b, "| %s | **%s**<br>%s%s | %s | %s | %s | %s | %s | %s |\n", reports.Mark(s.Result), prose.MarkdownText(s.Name), prose.MarkdownText(s.Claim), prose.MarkdownText(s.MutantNotes("; ", "")),
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
				requests = prose.Thousands(met.RequestsInFlight)
			}
			fmt.Fprintf(&rows, "| %s | %s | %s | %d | %d | %d |\n", prose.MarkdownText(s.Faults[j].Name), prose.MarkdownText(s.Name), requests,
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
	fmt.Fprintf(&b, "\n### %s: %s\n\n%s\n\n**%s**\n", reports.Mark(s.Result), prose.MarkdownText(s.Name), prose.MarkdownText(s.Claim), prose.MarkdownText(s.Why))
	if s.Mutant != nil {
		fmt.Fprintf(&b, "\nMutant: without %s, must be caught by %s; its twin is %s.%s\n", prose.MarkdownText(s.Mutant.Removed),
			prose.MarkdownCode(s.Mutant.CaughtBy), prose.MarkdownCode(s.Mutant.Twin), prose.MarkdownText(s.MutantNotes(" ", ".")))
	}
	markdownNotes(&b, s)
	fmt.Fprintf(&b, "\n%s\n", prose.MarkdownText(s.Meaning()))
	for i := range s.Verdicts {
		markdownVerdict(&b, &s.Verdicts[i])
	}
	for _, r := range s.Remedies {
		title := r.Title()
		fmt.Fprintf(&b, "\n%s: %s\n", prose.MarkdownText(strings.ToUpper(title[:1])+title[1:]), prose.MarkdownText(r.About()))
		for _, command := range r.Commands {
			fmt.Fprintf(&b, "\n%s\n", prose.MarkdownFence(command))
		}
	}
	if s.APIAway != nil {
		fmt.Fprintf(&b, "\nAPI server unavailable: %s.\n", prose.MarkdownText(s.APIAway.String()))
	}
	if noise := s.NoiseInWords(); noise != "" {
		fmt.Fprintf(&b, "\nThe harness itself: %s.\n", prose.MarkdownText(noise))
	}
	for _, what := range s.Trouble {
		fmt.Fprintf(&b, "\n> [!WARNING]\n> %s\n", prose.MarkdownText(what))
	}
	if s.Reproduce != "" {
		fmt.Fprintf(&b, "\n%s\n", prose.MarkdownFence(s.Reproduce))
	}
	return b.String()
}

func markdownVerdict(b *strings.Builder, v *reports.Verdict) {
	at := ""
	if v.At > 0 {
		at = ", at " + prose.Moment(v.At)
	}
	fmt.Fprintf(b, "\n- %s **%s** (%s%s): %s\n", reports.Mark(reports.ResultOfOutcome(v.Outcome)), prose.MarkdownText(v.Promise), prose.MarkdownCode(v.Kind), at, prose.MarkdownText(v.Seen))
	if limited := v.Limited(); len(limited) > 0 {
		fmt.Fprintf(b, "  - measured: %s\n", prose.MarkdownText(inOneLine(limited)))
	}
	for _, line := range v.Evidence {
		fmt.Fprintf(b, "  - %s\n", prose.MarkdownText(line))
	}
	if others := v.Others(); v.Outcome != verdict.Held && len(others) > 0 {
		fmt.Fprintf(b, "  - %s\n", prose.MarkdownText(inOneLine(others)))
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
		fmt.Fprintf(b, "\nNote: %s\n", prose.MarkdownText(note))
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
		fmt.Fprintf(&one, "\n**%s**\n", prose.MarkdownText(s.Name))
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
		fmt.Fprintf(&held, "\n%s more held; see report.html.\n", prose.Counted(uint64(left), "scenario"))
	}
	if held.Len() > 0 {
		b.WriteString(begin + held.String() + end)
	}
}

// markdownCauses lists why requests failed, by scenario.
func markdownCauses(b *strings.Builder, r reports.Report) {
	begun := false
	for i := range r.Scenarios {
		s := &r.Scenarios[i]
		for n, c := range s.Causes {
			if !begun {
				b.WriteString("\n### Failed requests by cause\n\n| scenario | failed | cause | how it is known |\n| --- | ---: | --- | --- |\n")
				begun = true
			}
			name := ""
			if n == 0 {
				name = prose.MarkdownText(s.Name)
			}
			fmt.Fprintf(b, "| %s | %s | **%s**: %s | %s |\n", name, prose.Thousands(c.Failed), prose.MarkdownText(string(c.Cause)), prose.MarkdownText(c.Words), prose.MarkdownText(c.Known))
		}
	}
}

// markdownConfusion writes the matrix of planted and reported causes.
func markdownConfusion(b *strings.Builder, c *reports.Confusion) {
	if c == nil {
		return
	}
	fmt.Fprintf(b, "\n### Planted cause against reported cause\n\n%d of %d mutants were caught for the reason that was planted.\n\n| planted / reported |",
		c.Agree, c.Of)
	for _, reported := range c.Reported {
		fmt.Fprintf(b, " %s |", prose.MarkdownText(string(reported)))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(c.Reported)) + "\n")
	for _, planted := range c.Planted {
		fmt.Fprintf(b, "| %s |", prose.MarkdownText(string(planted)))
		for _, reported := range c.Reported {
			switch n := c.Count(planted, reported); {
			case n == 0:
				b.WriteString(" |")
			case planted == reported:
				fmt.Fprintf(b, " **%d** |", n)
			default:
				fmt.Fprintf(b, " %d |", n)
			}
		}
		b.WriteString("\n")
	}
}
