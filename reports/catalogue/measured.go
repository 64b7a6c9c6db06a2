package catalogue

import (
	"fmt"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// Measured is a claim about costs, which is measured and not judged.
type Measured struct {
	Claim string `json:"claim"`
	// Seen is Markdown: what was seen, with the numbers in a table.
	Seen string `json:"seen"`
	// Reproduce is the command that measures it again.
	Reproduce string `json:"reproduce"`
}

// Add adds a measured claim to the findings in a file, in place of an earlier one with the same claim. Update writes the page.
func Add(file string, m Measured) error {
	f, err := readFindings(file)
	if err != nil {
		return err
	}
	if i := slices.IndexFunc(f.Measured, func(before Measured) bool { return before.Claim == m.Claim }); i >= 0 {
		f.Measured[i] = m
	} else {
		f.Measured = append(f.Measured, m)
	}
	if err := reports.Replace(file, f, writeFindings); err != nil {
		return fmt.Errorf("write %s: %w", file, err)
	}
	return nil
}

// writeMeasured lists the measured claims.
func (f findings) writeMeasured(b *strings.Builder) {
	if len(f.Measured) > 0 {
		b.WriteString("\n## Measured\n\nNo scenario judges these claims: they are about costs.\n")
	}
	for _, m := range f.Measured {
		fmt.Fprintf(b, "\n### %s\n\n%s\n\n%s\n", words.MarkdownText(m.Claim), strings.TrimSpace(m.Seen), words.MarkdownCode(m.Reproduce))
	}
}
