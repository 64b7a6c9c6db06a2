package formats

import (
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

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
				name = words.MarkdownText(s.Name)
			}
			fmt.Fprintf(b, "| %s | %s | **%s**: %s | %s |\n", name, words.Count(c.Failed), words.MarkdownText(string(c.Cause)), words.MarkdownText(c.Words), words.MarkdownText(c.Known))
		}
	}
}

// markdownConfusion writes the matrix of planted and reported causes.
func markdownConfusion(b *strings.Builder, c *judge.Confusion) {
	t := reports.NewConfusionTable(c)
	if t == nil {
		return
	}
	fmt.Fprintf(b, "\n### Planted cause against reported cause\n\n%d of %d mutants were caught for the reason that was planted.\n\n| planted / reported |",
		t.Agree, t.Of)
	for _, reported := range t.Reported {
		fmt.Fprintf(b, " %s |", words.MarkdownText(string(reported)))
	}
	b.WriteString("\n| --- |" + strings.Repeat(" ---: |", len(t.Reported)) + "\n")
	for _, row := range t.Rows {
		fmt.Fprintf(b, "| %s |", words.MarkdownText(string(row.Planted)))
		for _, f := range row.Fields {
			switch {
			case f.N == 0:
				b.WriteString(" |")
			case f.Agree:
				fmt.Fprintf(b, " **%d** |", f.N)
			default:
				fmt.Fprintf(b, " %d |", f.N)
			}
		}
		b.WriteString("\n")
	}
}
