package reporttest

import (
	"context"
	"encoding/xml"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/cdproto/log"
	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
)

// chromeOfMacOS is where Chrome is on macOS, which has it in no folder of PATH. The Makefile looks there, too.
const chromeOfMacOS = "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome"

// browserLimit bounds a test in Chromium, including its start. On an idle machine a test takes 4 s.
const browserLimit = 2 * time.Minute

// Browser starts a headless Chromium with its own profile. Without Chromium the test fails and says how to install it.
func Browser(t *testing.T) context.Context {
	t.Helper()
	if os.Getenv("HOLDFAST_NO_CHROMIUM") == "1" {
		t.Skip("HOLDFAST_NO_CHROMIUM=1: the page is not opened in a browser")
	}
	path := ""
	for _, name := range []string{"chromium", "chromium-browser", "google-chrome", "google-chrome-stable", chromeOfMacOS} {
		if found, err := exec.LookPath(name); err == nil {
			path = found
			break
		}
	}
	if path == "" {
		t.Fatal("no Chromium: install it (Debian: apt-get install chromium), or set HOLDFAST_NO_CHROMIUM=1 to skip this test")
	}
	options := append(chromedp.DefaultExecAllocatorOptions[:], chromedp.ExecPath(path), chromedp.DisableGPU,
		chromedp.UserDataDir(t.TempDir()), chromedp.Flag("disable-quic", true), chromedp.Flag("disable-component-update", true))
	if os.Geteuid() == 0 {
		options = append(options, chromedp.NoSandbox) // Chromium's sandbox refuses to start for root
	}
	ctx, cancel := context.WithTimeout(t.Context(), browserLimit)
	t.Cleanup(cancel)
	ctx, stop := chromedp.NewExecAllocator(ctx, options...)
	t.Cleanup(stop)
	ctx, closeTab := chromedp.NewContext(ctx)
	t.Cleanup(closeTab)
	if err := chromedp.Do(ctx); err != nil {
		t.Fatal(err)
	}
	return ctx
}

// Witness records the network requests and the errors of a page.
type Witness struct {
	mu       sync.Mutex
	requests []string
	errors   []string
}

func (w *Witness) see(event any) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		if !strings.HasPrefix(e.Request.URL, "data:") {
			w.requests = append(w.requests, e.Request.URL)
		}
	case *runtime.EventExceptionThrown:
		w.errors = append(w.errors, e.ExceptionDetails.Text)
	case *runtime.EventConsoleAPICalled:
		w.errors = append(w.errors, fmt.Sprintf("console.%s", e.Type))
	case *log.EventEntryAdded:
		w.errors = append(w.errors, e.Entry.Text)
	}
}

// Saw returns the requests and errors so far.
func (w *Witness) Saw() (requests, errors []string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.requests, w.errors
}

// Open loads a page from a file.
func Open(ctx context.Context, t *testing.T, page []byte) (w *Witness, url string) {
	t.Helper()
	name := filepath.Join(t.TempDir(), "page.html")
	if err := os.WriteFile(name, page, 0o644); err != nil {
		t.Fatal(err)
	}
	url = "file://" + name
	return Visit(ctx, t, url), url
}

// Visit loads a page from where it is served.
func Visit(ctx context.Context, t *testing.T, url string) *Witness {
	t.Helper()
	w := &Witness{}
	if err := chromedp.Listen(ctx, w.see); err != nil {
		t.Fatal(err)
	}
	if err := chromedp.Do(ctx, chromedp.Navigate(url)); err != nil {
		t.Fatal(err)
	}
	return w
}

// Evaluate runs a script in the page and returns its value.
func Evaluate[T any](ctx context.Context, t *testing.T, script string) T {
	t.Helper()
	value, err := chromedp.Run(ctx, chromedp.Evaluate[T](script))
	if err != nil {
		t.Fatalf("%s: %v", script, err)
	}
	return value
}

// CheckSchemesAndWidths fails the test if light and dark look alike, or if the page is too wide for a usual window.
func CheckSchemesAndWidths(ctx context.Context, t *testing.T) {
	seen := make(map[string]bool)
	for _, scheme := range []string{"light", "dark"} {
		_, err := chromedp.Call(ctx, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{
			Features: []*emulation.MediaFeature{{Name: "prefers-color-scheme", Value: scheme}},
		})
		if err != nil {
			t.Fatal(err)
		}
		seen[Evaluate[string](ctx, t, `getComputedStyle(document.body).backgroundColor`)] = true
	}
	if len(seen) != 2 {
		t.Errorf("light and dark have the background %v", seen)
	}
	for _, width := range []int64{360, 768, 1280, 1920} {
		if err := chromedp.Do(ctx, chromedp.EmulateViewport(width, 900)); err != nil {
			t.Fatal(err)
		}
		if over := Evaluate[int](ctx, t, `document.documentElement.scrollWidth - document.documentElement.clientWidth`); over > 0 {
			t.Errorf("at a width of %d the page is %d pixels too wide", width, over)
		}
	}
}

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
