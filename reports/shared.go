package reports

import (
	"fmt"
	"html/template"
	"io/fs"
	"time"
)

// The functions of this file are for other documents, so that they look and read like the report of a run.

// Brief writes a duration with three digits in the unit that suits it: 870 µs, 4.2 ms, 12.3 s, 3 min 20 s.
func Brief(d time.Duration) string { return brief(d) }

// Count writes a number with its thousands set apart: 12,000.
func Count(n uint64) string { return count(n) }

// Percent writes a share with two significant digits: 0.025 %.
func Percent(share float64) string { return percent(share) }

// Plural writes "1 pod", "2 pods".
func Plural(n uint64, one string) string { return plural(n, one) }

// MarkdownText is text as one line of Markdown without markup.
func MarkdownText(s string) string { return text(s) }

// MarkdownCode is text as a code span.
func MarkdownCode(s string) string { return code(s) }

// MarkdownFence is text as a code block, which the text cannot end.
func MarkdownFence(s string) string { return fence(s) }

// Mark is a result in words, behind its Shape.
func Mark(r Result) string { return mark(r) }

// Shape is the symbol of a result.
func Shape(r Result) string { return shape(r) }

// Page parses templates together with the shared templates ("symbols", "icon", "badge", "command"), and returns the shared style and
// script. The templates can call the functions in more, and the shared ones, such as brief and percent.
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

// look is the style and the script of pages.
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
