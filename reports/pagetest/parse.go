package pagetest

import (
	"encoding/xml"
	"errors"
	"io"
	"regexp"
	"strings"
	"testing"
)

// Parsed is a page: the ids of its elements, its links within the page, and the number of each element.
type Parsed struct {
	IDs, Links map[string]bool
	Elements   map[string]int
	Outside    []string // attributes that would load something, or link to another page
}

var notMarkup = regexp.MustCompile(`(?s)<(script|style)[^>]*>.*?</(script|style)>`)

// Parse reads a page with an XML parser, which is stricter than a browser: every element must be closed. Inline styles and handlers fail
// the test.
func Parse(t *testing.T, page string) Parsed {
	t.Helper()
	p := Parsed{IDs: map[string]bool{}, Links: map[string]bool{}, Elements: map[string]int{}}
	d := xml.NewDecoder(strings.NewReader(notMarkup.ReplaceAllString(page, "")))
	d.Strict, d.AutoClose, d.Entity = false, xml.HTMLAutoClose, xml.HTMLEntity
	var open []string
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			break
		}
		if err != nil {
			t.Fatal(err)
		}
		switch e := token.(type) {
		case xml.StartElement:
			open = append(open, e.Name.Local)
			p.Elements[e.Name.Local]++
			p.attributes(t, e)
		case xml.EndElement:
			if last := len(open) - 1; last < 0 || open[last] != e.Name.Local {
				t.Fatalf("</%s> closes %v", e.Name.Local, open)
			}
			open = open[:len(open)-1]
		}
	}
	return p
}

func (p *Parsed) attributes(t *testing.T, e xml.StartElement) {
	t.Helper()
	for _, a := range e.Attr {
		switch a.Name.Local {
		case "id":
			if p.IDs[a.Value] {
				t.Errorf("id %s twice", a.Value)
			}
			p.IDs[a.Value] = true
		case "href", "src", "action", "srcset", "data", "poster":
			if anchor, ok := strings.CutPrefix(a.Value, "#"); ok {
				p.Links[anchor] = true
			} else if a.Value != "data:," {
				p.Outside = append(p.Outside, e.Name.Local+" "+a.Name.Local+"="+a.Value)
			}
		}
		if strings.HasPrefix(a.Name.Local, "on") || a.Name.Local == "style" {
			t.Errorf("%s has inline %s", e.Name.Local, a.Name.Local)
		}
	}
}
