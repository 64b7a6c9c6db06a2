package audit

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/table"
	pretty "github.com/jedib0t/go-pretty/v6/text"
)

// WriteText writes the report for people: a table, and below it the commands that fix each finding, which are too long for the table.
func (r Report) WriteText(out io.Writer) error {
	var page strings.Builder
	if len(r.Findings) > 0 {
		page.WriteString(r.table() + "\n")
	}
	for i, f := range r.Findings {
		fmt.Fprintf(&page, "\n%d. %s: %s\n", i+1, f.Object(), f.Rule)
		for _, step := range f.Fix {
			fmt.Fprintf(&page, "   %s\n", step.Command)
		}
		if f.Caution != "" {
			fmt.Fprintf(&page, "   # %s\n", f.Caution)
		}
	}
	for _, n := range r.NotChecked {
		fmt.Fprintf(&page, "\nnot checked in %s: %s\n   %s\n", n.Where(), strings.Join(n.Rules, ", "), n.Why)
	}
	if page.Len() > 0 {
		page.WriteString("\n")
	}
	fmt.Fprintf(&page, "%s\n", r.summary())
	_, err := io.WriteString(out, page.String())
	return err
}

func (r Report) table() string {
	t := table.NewWriter()
	t.SetStyle(table.StyleLight)
	t.AppendHeader(table.Row{"", "severity", "workload", "rule", "evidence"})
	t.SetColumnConfigs([]table.ColumnConfig{
		{Number: 3, WidthMax: 40, WidthMaxEnforcer: pretty.WrapHard},
		{Number: 5, WidthMax: 70, WidthMaxEnforcer: pretty.WrapSoft},
	})
	for i, f := range r.Findings {
		t.AppendRow(table.Row{i + 1, f.Severity, f.Object(), f.Rule, f.Evidence})
	}
	return t.Render()
}

func (r Report) summary() string {
	counts := map[Severity]int{}
	for _, f := range r.Findings {
		counts[f.Severity]++
	}
	summary := fmt.Sprintf("workloads: %d, errors: %d, warnings: %d, notes: %d", r.Workloads, counts[Error], counts[Warning], counts[Note])
	if len(r.NotChecked) > 0 {
		summary += "; not everything could be checked"
	}
	if len(r.Skipped) > 0 {
		summary += "; left out: " + strings.Join(r.Skipped, ", ")
	}
	return summary
}
