package page

import (
	"fmt"
	"html/template"
	"io/fs"
)

// Parse parses templates together with the shared templates ("symbols", "icon", "badge", "command"), and returns the shared style and
// script. The templates can call the functions in more, and the shared ones, such as brief and percent.
func Parse(pages fs.FS, pattern string, more template.FuncMap) (t *template.Template, style template.CSS, script template.JS, err error) {
	t, err = template.New("").Funcs(functions).Funcs(more).ParseFS(assets, "assets/parts.tmpl")
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
