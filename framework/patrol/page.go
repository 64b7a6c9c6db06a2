package patrol

import (
	"bytes"
	"crypto/sha256"
	_ "embed"
	"encoding/base64"
	"fmt"
	"html/template"
	"log/slog"
	"maps"
	"net/http"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

// mostRows bounds each table of the page.
const mostRows = 300

var (
	//go:embed page.tmpl
	pageText string
	//go:embed page.css
	pageStyle string

	pageTemplate = template.Must(template.New("page").Parse(pageText))

	// pagePolicy lets the page load nothing at all, and have no style but its own. An icon of data keeps browsers from asking for one.
	pagePolicy = fmt.Sprintf("default-src 'none'; img-src data:; style-src 'sha256-%s'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'", hashOf(pageStyle))
)

func hashOf(text string) string {
	sum := sha256.Sum256([]byte(text))
	return base64.StdEncoding.EncodeToString(sum[:])
}

// view is what the page shows.
type view struct {
	Style                         template.CSS
	Version                       string
	Read, Failure, Every          string // Read is empty until the cluster has been read
	Took                          string
	Workloads, Errors, Warnings   int
	Notes, MoreFindings, MoreSkew int
	MorePending, MoreNotChecked   int
	Findings                      []row
	Pending                       []pendingRow
	NotChecked                    []notCheckedRow
	Skews                         []skewRow
}

type row struct {
	Severity, Object, Rule, Title, Evidence, Caution string
	Stale                                            string // when it was last seen, if that was not in the last reading
	Commands                                         []string
}

type pendingRow struct {
	Object, Since, Said string
	Pods                int
}

type notCheckedRow struct{ Where, Rules, Why string }

type skewRow struct {
	Object, Topology, Constraint, Allowed, Pods string
	Skew                                        int
	Exceeded                                    bool
}

// page answers with the page.
func (p *Patrol) page(w http.ResponseWriter, r *http.Request) {
	var text bytes.Buffer
	if err := pageTemplate.Execute(&text, p.view(time.Now())); err != nil {
		slog.ErrorContext(r.Context(), "the page could not be written", "cause", err)
		http.Error(w, "the page could not be written: "+err.Error(), http.StatusInternalServerError)
		return
	}
	header := w.Header()
	header.Set("Content-Type", "text/html; charset=utf-8")
	header.Set("Content-Security-Policy", pagePolicy)
	header.Set("X-Content-Type-Options", "nosniff")
	header.Set("Referrer-Policy", "no-referrer")
	header.Set("Cache-Control", "no-store")
	_, _ = w.Write(text.Bytes())
}

func (p *Patrol) view(now time.Time) view {
	s := p.now.Load()
	v := view{Style: template.CSS(pageStyle), Version: p.o.Version, Failure: s.failure, Every: p.o.Every.String(), Workloads: s.workloads} //nolint:gosec // the style is a constant
	if s.taken.IsZero() {
		return v
	}
	v.Read, v.Took = at(s.taken, now), s.took.Round(time.Millisecond).String()
	v.findings(s, now)
	for _, pending := range s.pending {
		v.Pending = append(v.Pending, pendingRow{pending.Object(), at(pending.Since, now), pending.Said, pending.Pods})
	}
	for _, n := range s.notChecked {
		v.NotChecked = append(v.NotChecked, notCheckedRow{n.Where(), strings.Join(n.Rules, ", "), n.Why})
	}
	v.MorePending, v.MoreNotChecked = max(0, len(v.Pending)-mostRows), max(0, len(v.NotChecked)-mostRows)
	v.Pending, v.NotChecked = v.Pending[:len(v.Pending)-v.MorePending], v.NotChecked[:len(v.NotChecked)-v.MoreNotChecked]
	v.skews(s)
	return v
}

func (v *view) findings(s *state, now time.Time) {
	for _, f := range s.findings {
		switch f.Severity {
		case audit.Error:
			v.Errors++
		case audit.Warning:
			v.Warnings++
		case audit.Note:
			v.Notes++
		}
	}
	v.MoreFindings = max(0, len(s.findings)-mostRows)
	for _, f := range s.findings[:min(len(s.findings), mostRows)] {
		one := row{
			Severity: string(f.Severity), Object: f.Object(), Rule: f.Rule, Title: titles[f.Rule], Evidence: f.Evidence, Caution: f.Caution,
		}
		if !f.seen.Equal(s.taken) {
			one.Stale = at(f.seen, now)
		}
		for _, step := range f.Fix {
			one.Commands = append(one.Commands, step.Command)
		}
		v.Findings = append(v.Findings, one)
	}
}

func (v *view) skews(s *state) {
	v.MoreSkew = max(0, len(s.skews)-mostRows)
	for _, k := range s.skews[:min(len(s.skews), mostRows)] {
		one := skewRow{
			Object: k.Object(), Topology: k.TopologyKey, Constraint: string(k.Constraint), Allowed: fmt.Sprint(k.Allowed), Skew: k.Skew,
			Exceeded: k.Constraint != audit.Unconstrained && k.Skew > k.Allowed, Pods: amounts(k.Pods, k.Empty),
		}
		if k.Constraint == audit.Unconstrained {
			one.Allowed = "any"
		}
		v.Skews = append(v.Skews, one)
	}
}

// mostDomains is how many domains a row of the page names.
const mostDomains = 8

// amounts lists how many pods each domain has, and how many domains have none.
func amounts(pods map[string]int, empty int) string {
	var parts []string
	for _, domain := range slices.Sorted(maps.Keys(pods)) {
		parts = append(parts, fmt.Sprintf("%s: %d", domain, pods[domain]))
	}
	if more := len(parts) - mostDomains; more > 0 {
		parts = append(parts[:mostDomains], fmt.Sprintf("and %d more", more))
	}
	if empty > 0 {
		parts = append(parts, fmt.Sprintf("%d empty", empty))
	}
	return strings.Join(parts, ", ")
}

// at is a time of day with how long ago it is.
func at(t, now time.Time) string {
	return fmt.Sprintf("%s (%s ago)", t.UTC().Format("2006-01-02 15:04:05 UTC"), now.Sub(t).Round(time.Second))
}

var titles = func() map[string]string {
	all := map[string]string{}
	for _, r := range audit.Rules {
		all[r.ID] = r.Title
	}
	return all
}()
