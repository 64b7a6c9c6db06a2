package certificate

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// look is the result as which a word of a certificate is drawn.
func look(word any) reports.Result {
	switch fmt.Sprint(word) {
	case string(Certified), string(reports.Held):
		return reports.Held
	case string(NotCertified), string(reports.Violated):
		return reports.Violated
	case string(reports.Interrupted), string(reports.NotBegun), string(Interrupted):
		return reports.Interrupted
	}
	return reports.Unknown
}

// ResultOf is the result of a certificate as that of a run.
func ResultOf(r Result) reports.Result { return look(r) }

// Heading is the result as a heading.
func (c *Certificate) Heading() string {
	switch c.Result {
	case Certified:
		return "Certified"
	case Partial:
		return "Partly certified"
	}
	return "Not certified"
}

// Summary is the certificate in a few sentences.
func (c *Certificate) Summary() string {
	var parts []string
	for i := range c.Profiles {
		parts = append(parts, c.Profiles[i].Name+" is "+string(c.Profiles[i].Result))
	}
	if a := c.Application; a != nil {
		parts = append(parts, "application "+a.Name+" is "+string(a.Result))
	}
	text := fmt.Sprintf("Kubernetes %s to %s: %s.", c.From.Kubernetes, c.To.Kubernetes, strings.Join(parts, ", "))
	if c.Upgrade.Requests > 0 {
		text += " During the upgrade " + c.Upgrade.counted() + "."
	}
	if a := c.Application; a != nil && a.Upgrade.Requests > 0 {
		text += " During that of application " + a.Name + " " + a.Upgrade.counted() + "."
	}
	return text
}

// Meaning says what the requests during the upgrade prove.
func (u *Upgrade) Meaning() string {
	if u.Requests == 0 {
		return u.Why
	}
	return strings.ToUpper(u.counted()[:1]) + u.counted()[1:] + ", in " + seconds(u.TookSeconds) + "."
}

// counted are requests, disruptions and their bounds.
func (s *Side) counted() string {
	text := fmt.Sprintf("%s of %s failed over %s (%s, %s)", words.Count(s.Failed), words.Plural(s.Requests, "request"),
		words.Plural(uint64(s.Disruptions.Total()), "disruption event"), words.Plural(uint64(s.Disruptions.PodTerminations), "pod termination"),
		words.Plural(uint64(s.Disruptions.NodeLosses), "node loss"))
	if s.UpperBound95 != nil {
		text += fmt.Sprintf("; with 95 %% confidence at most %s of such requests fail on a lane, if they are independent", words.Percent(*s.UpperBound95))
	}
	if s.Disruptions.UpperBound95 != nil {
		text += fmt.Sprintf(", and at most %s of such disruptions, if they are independent too, fail a request", words.Percent(*s.Disruptions.UpperBound95))
	}
	return text
}

// none stands for a missing number.
const none = "–"

func share(s *float64) string {
	if s == nil {
		return none
	}
	return words.Percent(*s)
}

func maybe(s *float64) string {
	if s == nil {
		return none
	}
	return seconds(*s)
}

func skew(n *int) string {
	if n == nil {
		return none
	}
	return fmt.Sprint(*n)
}

func seconds(s float64) string { return words.Brief(time.Duration(s * float64(time.Second))) }

// latency is a number of seconds; none if no request succeeded.
func latency(s float64) string {
	if s == 0 {
		return none
	}
	return seconds(s)
}

// warned says which side warned about an API.
func warned(d Deprecation) string {
	switch {
	case d.Before && d.After:
		return "before and after"
	case d.After:
		return "only after"
	case d.Before:
		return "only before"
	}
	return "neither"
}

// P99 is the worst 99th percentile of all lanes but control, in seconds.
func (s *Side) P99() (worst float64) {
	for i := range s.Lanes {
		if s.Lanes[i].Name != "control" {
			worst = max(worst, s.Lanes[i].P99Seconds)
		}
	}
	return worst
}
