package reports

import (
	"fmt"
	"html/template"
	"io/fs"
	"time"
)

// What other documents than a run's report are written with, so that all of them look and read alike.

// Brief writes a duration with three digits in the unit that suits it: 870 µs, 4.2 ms, 12.3 s, 3 min 20 s.
func Brief(d time.Duration) string { return brief(d) }

// Count writes a number with its thousands set apart: 12,000.
func Count(n uint64) string { return count(n) }

// Percent writes a share with two significant digits: 0.025 %.
func Percent(share float64) string { return percent(share) }

// Plural writes "1 pod", "2 pods".
func Plural(n uint64, one string) string { return plural(n, one) }

// MarkdownText makes recorded words plain text on one line, MarkdownCode a code span, and MarkdownFence a block of commands.
func MarkdownText(s string) string { return text(s) }

// MarkdownCode makes recorded words a code span.
func MarkdownCode(s string) string { return code(s) }

// MarkdownFence makes recorded words a code block that they cannot end.
func MarkdownFence(s string) string { return fence(s) }

// Mark is a result in words, behind its Shape.
func Mark(r Result) string { return mark(r) }

// Shape is the symbol of a result.
func Shape(r Result) string { return shape(r) }

// Page parses templates beside those that pages share ("symbols", "icon", "badge", "command"), whose style and script it
// returns. More are functions that the templates call beside the shared ones, such as brief and percent.
func Page(pages fs.FS, pattern string, more template.FuncMap) (t *template.Template, style template.CSS, script template.JS, err error) {
	t, err = template.New("").Funcs(words).Funcs(more).ParseFS(assets, "assets/parts.tmpl")
	if err == nil {
		t, err = t.ParseFS(pages, pattern)
	}
	if err != nil {
		return nil, "", "", fmt.Errorf("parse the page's templates: %w", err)
	}
	look, err := looks()
	return t, look.style, look.script, err
}

// look is how pages are drawn, and what moves on them.
type look struct {
	style  template.CSS // ours, embedded
	script template.JS  // ours, embedded
}

func looks() (look, error) {
	style, err := assets.ReadFile("assets/report.css")
	if err != nil {
		return look{}, fmt.Errorf("read the page's style: %w", err)
	}
	script, err := assets.ReadFile("assets/report.js")
	if err != nil {
		return look{}, fmt.Errorf("read the page's script: %w", err)
	}
	return look{template.CSS(style), template.JS(script)}, nil
}
