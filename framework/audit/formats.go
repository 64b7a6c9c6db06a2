package audit

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

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

// WriteJSON writes the report, for programs. Its format is versioned: see Format.
func (r Report) WriteJSON(w io.Writer) error { return write(w, r) }

func write(w io.Writer, v any) error {
	e := json.NewEncoder(w)
	e.SetEscapeHTML(false)
	e.SetIndent("", "  ")
	if err := e.Encode(v); err != nil {
		return fmt.Errorf("write JSON: %w", err)
	}
	return nil
}

// WriteSARIF writes the report as SARIF 2.1.0, for code scanning. An object of a cluster has no file, but some readers insist
// on one: its location is namespace/kind/name, line 1. What was not checked becomes an error notification of the tool.
// Source: https://docs.oasis-open.org/sarif/sarif/v2.1.0/sarif-v2.1.0.html
func (r Report) WriteSARIF(w io.Writer, version string) error {
	text := func(format string, args ...any) object { return object{"text": fmt.Sprintf(format, args...)} }
	rules, results, notes := []object{}, []object{}, []object{} // never null
	for _, rule := range Rules {
		rules = append(rules, object{
			"id": rule.ID, "shortDescription": text("%s", rule.Title), "fullDescription": text("%s", rule.Why), "helpUri": rule.Doc,
			"defaultConfiguration": object{"level": rule.Severity},
		})
	}
	for i, id := range fingerprints(r.Findings) {
		f := r.Findings[i]
		properties := object{"fix": f.Fix}
		if f.Caution != "" {
			properties["caution"] = f.Caution
		}
		results = append(results, object{
			"ruleId": f.Rule, "ruleIndex": slices.IndexFunc(Rules, func(r Rule) bool { return r.ID == f.Rule }), "level": f.Severity,
			"message": text("%s: %s", f.Object(), f.Evidence),
			"locations": []object{{
				"physicalLocation": object{"artifactLocation": object{"uri": f.Object()}, "region": object{"startLine": 1}},
				"logicalLocations": []object{{"name": f.Name, "fullyQualifiedName": f.Object(), "kind": "resource"}},
			}},
			"partialFingerprints": object{"finding/v1": id},
			"properties":          properties,
		})
	}
	for _, n := range r.NotChecked {
		notes = append(notes, object{"level": Error, "message": text("not checked in %s: %s: %s", n.Where(), strings.Join(n.Rules, ", "), n.Why)})
	}
	return write(w, object{
		"$schema": "https://json.schemastore.org/sarif-2.1.0.json", "version": "2.1.0",
		"runs": []object{{
			"tool": object{"driver": object{
				"name": "holdfast audit", "version": version, "informationUri": "https://github.com/holdfast-ha/holdfast", "rules": rules,
			}},
			"invocations": []object{{
				"executionSuccessful": len(notes) == 0, "endTimeUtc": r.Taken.UTC().Format(time.RFC3339), "toolExecutionNotifications": notes,
			}},
			"results": results,
		}},
	})
}

// fingerprints identify findings. They stay when numbers in the evidence change, and tell several findings of one rule on one object apart.
func fingerprints(findings []Finding) (all []string) {
	seen := map[string]int{}
	for _, f := range findings {
		identity := f.Rule + " " + f.Object()
		seen[identity]++
		sum := sha256.Sum256(fmt.Appendf(nil, "%s %d", identity, seen[identity]))
		all = append(all, hex.EncodeToString(sum[:16]))
	}
	return all
}
