package certificate

import (
	"fmt"
	"io"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/reports"
)

// WriteMarkdown writes certificate.md in GitHub's flavour, for a job summary: what is certified, why the rest is not, both sides, and the
// steps of the upgrade.
func WriteMarkdown(w io.Writer, c *Certificate) error {
	var b strings.Builder
	fmt.Fprintf(&b, "## %s %s: Kubernetes %s to %s\n\n%s\n", shape(c.Result), c.Heading(), text(c.From.Kubernetes), text(c.To.Kubernetes), text(c.Summary()))
	if c.Planted != "" {
		fmt.Fprintf(&b, "\n> [!NOTE]\n> A regression was introduced on purpose: %s. This certificate must fail and name it.\n", text(c.Planted))
	}
	markdownList(&b, "Why", c.Reasons)
	b.WriteString("\n| | profile | features |\n| --- | --- | --- |\n")
	for _, p := range c.Profiles {
		var features []string
		for _, f := range p.Features {
			features = append(features, shape(f.Result)+" "+text(f.Name)+" ("+text(string(f.Result))+")")
		}
		fmt.Fprintf(&b, "| %s %s | **%s** | %s |\n", shape(p.Result), text(string(p.Result)), text(p.Name), strings.Join(features, "<br>"))
	}
	markdownSides(&b, c)
	markdownUpgrade(&b, "The upgrade", &c.Upgrade)
	if a := c.Application; a != nil {
		markdownUpgrade(&b, "The same upgrade with application "+text(a.Name), &a.Upgrade)
		fmt.Fprintf(&b, "\nApplication %s of %s, digest %s, is **%s**.\n", text(a.Name), code(a.Source), code(a.Digest), text(string(a.Result)))
		markdownList(&b, "The application", a.Notes)
	}
	var left []string
	for _, n := range c.Skipped {
		left = append(left, n.Name+" was skipped: "+n.Why)
	}
	for _, n := range c.NotSupported {
		left = append(left, n.Name+" is not supported here: "+n.Why)
	}
	markdownList(&b, "Not tried", left)
	var old []string
	for _, d := range c.Deprecations {
		old = append(old, fmt.Sprintf("%s, %s (warned %s): %s", d.Object, d.API, warned(d), d.Message))
	}
	markdownList(&b, "Deprecated APIs", old)
	where := fmt.Sprintf("Images: %s, %s.", code(image(c.From)), code(image(c.To)))
	if k := c.Cluster; k != nil {
		where = fmt.Sprintf("Cluster %s %s, which holdfast did not make, upgraded by %s.", text(k.Name), code(k.UID), code(k.Command))
	}
	fmt.Fprintf(&b, "\n%s %s, holdfast %s, seed %d.\n", where,
		prose.Counted(uint64(max(0, c.Machine.Cores)), "core"), text(c.Holdfast), c.Seed)
	if c.Reproduce != "" {
		fmt.Fprintf(&b, "\n%s\n", prose.MarkdownFence(c.Reproduce))
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func text(s string) string { return prose.MarkdownText(s) }
func code(s string) string { return prose.MarkdownCode(s) }

// image is the node image of a release, with its digest if it is known.
func image(r Release) string { return strings.TrimSuffix(r.Image+"@"+r.Digest, "@") }

// shape is the symbol of a word, so that readers need not tell words apart by colour.
func shape(word any) string {
	switch look(word) {
	case reports.Held:
		return "✅"
	case reports.Violated:
		return "❌"
	}
	return "❔"
}

func markdownList(b *strings.Builder, title string, lines []string) {
	if len(lines) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### %s\n\n", title)
	for _, line := range lines {
		fmt.Fprintf(b, "- %s\n", text(line))
	}
}

func markdownSides(b *strings.Builder, c *Certificate) {
	fmt.Fprintf(b, "\n### Before and after\n\n| scenario | %s | %s | failed | disruptions | at most, 95 %% | p99 | recovery | skew | marked |\n", text(c.From.Kubernetes), text(c.To.Kubernetes))
	b.WriteString("| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |\n")
	for i := range c.Scenarios {
		s := &c.Scenarios[i]
		both := func(of func(*Side) string) string {
			if was, is := of(&s.Before), of(&s.After); was != is {
				return was + " → " + is
			}
			return of(&s.After)
		}
		var marked []string
		for _, d := range s.Differences {
			marked = append(marked, text(fmt.Sprintf("%s: %s → %s", d.What, d.Before, d.After)))
		}
		fmt.Fprintf(b, "| **%s**<br>%s | %s %s | %s %s | %s | %s | %s | %s | %s | %s | %s |\n", text(s.Name), text(s.Claim),
			shape(s.Before.Verdict), text(string(s.Before.Verdict)), shape(s.After.Verdict), text(string(s.After.Verdict)),
			both((*Side).failed),
			both(func(s *Side) string { return fmt.Sprint(s.Disruptions.Total()) }),
			both(func(s *Side) string { return share(s.UpperBound95) }), both(func(s *Side) string { return latency(s.P99()) }),
			both(func(s *Side) string { return maybe(s.RecoverySeconds) }), both(func(s *Side) string { return skew(s.SettledSkew) }), strings.Join(marked, "<br>"))
	}
	fmt.Fprintf(b, "\n0 of N is not zero: \"at most, 95 %%\" is 3/N of the lane with the fewest, if requests are independent. %s\n", c.Marks())
}

// failed is how many requests failed, of how many; none without load.
func (s *Side) failed() string {
	if len(s.Lanes) == 0 {
		return none
	}
	return prose.Thousands(s.Failed) + " of " + prose.Thousands(s.Requests)
}

func markdownUpgrade(b *strings.Builder, title string, u *Upgrade) {
	fmt.Fprintf(b, "\n### %s %s: %s\n\n%s\n", shape(u.Verdict), title, text(string(u.Verdict)), text(u.Why))
	for i := range u.Promises {
		p := &u.Promises[i]
		fmt.Fprintf(b, "\n- %s **%s** (%s): %s%s\n", shape(p.Verdict), text(p.Promise), code(p.Kind), text(p.Seen), text(CauseInWords(p.Cause)))
	}
	if len(u.Lanes) > 0 {
		b.WriteString("\n| lane | sent | failed | never sent | at most, 95 % | p99 |\n| --- | ---: | ---: | ---: | ---: | ---: |\n")
		for _, l := range u.Lanes {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", text(l.Name), prose.Thousands(l.Requests), prose.Thousands(l.Failed),
				prose.Thousands(l.Unsent), share(l.UpperBound95), latency(l.P99Seconds))
		}
	}
	if len(u.Steps) > 0 {
		b.WriteString("\n| step | node | took | requests | failed | result |\n| --- | --- | ---: | ---: | ---: | --- |\n")
		for _, s := range u.Steps {
			fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", text(s.What), text(s.Node), seconds(s.TookSeconds), prose.Thousands(s.Requests),
				prose.Thousands(s.Failed), text(strings.TrimSuffix(string(s.Result)+": "+s.Error, ": ")))
		}
	}
	for _, g := range u.WatchGaps {
		fmt.Fprintf(b, "\n> [!WARNING]\n> From %s to %s the watch of %s may have missed changes: %s\n", seconds(g.FromSeconds), seconds(g.ToSeconds), text(g.What), text(g.Why))
	}
}
