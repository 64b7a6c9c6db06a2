package selftest

import (
	"fmt"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// markdown writes the findings and the tables.
func (i *Instrument) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## The instrument: %s\n\nLoad, record and judgement without a cluster, on loopback, with %s, in %s.\n", reports.Mark(i.Result()),
		words.Plural(uint64(i.Processors), "processor"), words.Brief(time.Duration(i.TookSeconds*float64(time.Second))))
	wrong, unknown := i.Findings()
	for _, f := range wrong {
		fmt.Fprintf(b, "\n- ❌ %s", words.MarkdownText(f))
	}
	for _, f := range unknown {
		fmt.Fprintf(b, "\n- ❔ %s", words.MarkdownText(f))
	}
	if len(wrong)+len(unknown) > 0 {
		b.WriteString("\n")
	}
	i.outages(b)
	i.losses(b)
	if s := i.Soak; s != nil {
		fmt.Fprintf(b, "\n### Soak\n\n%s planned at %g a second: %s sent, %s unsent, %s in the record; **%s failed**, %s masked, %s timed out. Sent late by "+
			"%.3g ms (p99) and %.3g ms (most). Judged, where Unknown is right, for a promise "+
			"needs a fault as evidence: %s: %s\n",
			words.Plural(s.Planned, "request"), s.RatePerSecond, words.Count(s.Sent), words.Count(s.Unsent), words.Plural(s.Rows, "row"), words.Count(s.Failed), words.Count(s.Masked), words.Count(s.TimedOut),
			s.LagP99Milliseconds, s.LagMaxMilliseconds, words.MarkdownText(s.Verdict), words.MarkdownText(s.Seen))
	}
}

func (i *Instrument) outages(b *strings.Builder) {
	if len(i.Outages) == 0 {
		return
	}
	b.WriteString("\n### Planted outages\n\nSeen, and in brackets the share that meets a request at all: the length divided by the gap between requests. All outages count, " +
		"those as well in which the worker was late or stood still.\n\n")
	b.WriteString("| lanes | a request every |")
	rule := "| --- | ---: |"
	for _, l := range i.Outages[0].Lengths {
		fmt.Fprintf(b, " %g ms |", l.Milliseconds)
		rule += " ---: |"
	}
	fmt.Fprintf(b, " always seen from | expected | worker late: missed, of all | false alarms | timed out |\n%s ---: | ---: | ---: | ---: | ---: |\n", rule)
	for _, r := range i.Outages {
		fmt.Fprintf(b, "| %s | %g ms |", strings.Join(r.Lanes, " and "), r.GapMilliseconds)
		for _, l := range r.Lengths {
			fmt.Fprintf(b, " %d of %d (%.0f %%) |", l.Seen.Seen, l.Seen.Of, 100*l.Expected)
		}
		fmt.Fprintf(b, " %s | %g ms | %d of %d | %d of %s | %d |\n", shortest(r), r.GapMilliseconds, r.missedLate(), r.Late, r.FalseAlarms, words.Count(uint64(r.Requests)), r.TimedOut)
	}
}

func (i *Instrument) losses(b *strings.Builder) {
	if len(i.Losses) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Single lost requests\n\nOne of %s, reset, closed without an answer, or never answered, in turns.\n\n",
		words.Count(uint64(i.Losses[0].Every)))
	b.WriteString("| a second, on each lane | requests | lost | seen | false alarms | timed out |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range i.Losses {
		fmt.Fprintf(b, "| %g | %s | %d | %d | %d | %d |\n", r.RatePerSecond, words.Count(uint64(r.Requests)), r.Seen.Of, r.Seen.Seen, r.FalseAlarms, r.TimedOut)
	}
}
