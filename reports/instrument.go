package reports

import (
	"cmp"
	"fmt"
	"strings"
	"time"
)

// Instrument is what the load and its record can see, and what they do not imagine, measured on loopback without a cluster.
type Instrument struct {
	Processors  int         `json:"processors"`
	TookSeconds float64     `json:"tookSeconds"`
	Outages     []OutageRow `json:"outages,omitempty"`
	Losses      []LossRow   `json:"losses,omitempty"`
	Soak        *Soak       `json:"soak,omitempty"`
}

// OutageRow is what one lane saw of planted outages, or several of the same rate that are sent in turns.
type OutageRow struct {
	Lanes []string `json:"lanes"`
	// GapMilliseconds lies between a request and the next: an outage of that length always meets one.
	GapMilliseconds float64        `json:"gapMilliseconds"`
	Requests        int            `json:"requests"`
	Lengths         []OutageLength `json:"lengths"`
	// Late is in how many outages the worker was late, or stood still. They count as all others do.
	Late        int `json:"late"`
	FalseAlarms int `json:"falseAlarms"` // failed requests without an outage, but for those that
	TimedOut    int `json:"timedOut"`    // had no answer in time: no server did that, but the machine
}

// OutageLength is what was seen of the outages of one length.
type OutageLength struct {
	Milliseconds float64 `json:"milliseconds"`
	// Seen is of all outages, whatever the worker did meanwhile. Those that became longer count only if they were missed.
	Seen Rate `json:"seen"`
	// Late is in how many of them the worker was late, and MissedLate how many of those were missed: a run's verdict says how long
	// nothing was sent. In reports of older versions late outages are in no count.
	Late       int `json:"late,omitempty"`
	MissedLate int `json:"missedLate,omitempty"`
	// Expected is the share that meets a request, by the gaps between requests alone.
	Expected float64 `json:"expected"`
}

// onTime is how many outages there were in which the worker was not late, and missed how many of those were.
func (l OutageLength) onTime() (all, missed int) {
	return l.Seen.Of - l.Late, l.Seen.Of - l.Seen.Seen - l.MissedLate
}

// NewRate is the rate of what was seen so often in so many independent trials.
func NewRate(seen, of int) Rate { return rateOf(seen, of) }

// LossRow is what was seen of single requests that a server lost: one of so many, reset, closed without an answer, or never
// answered, in turns.
type LossRow struct {
	RatePerSecond float64 `json:"ratePerSecond"` // of each lane
	Every         int     `json:"every"`
	Requests      int     `json:"requests"`
	Seen          Rate    `json:"seen"` // those that have their failed row
	FalseAlarms   int     `json:"falseAlarms"`
	TimedOut      int     `json:"timedOut"` // and were not lost
}

// Soak is what was made of so many requests of which none was lost.
type Soak struct {
	RatePerSecond      float64 `json:"ratePerSecond"` // all lanes together
	TookSeconds        float64 `json:"tookSeconds"`
	Planned            uint64  `json:"planned"` // these three are the worker's counts
	Sent               uint64  `json:"sent"`
	Unsent             uint64  `json:"unsent"`
	Rows               uint64  `json:"rows"` // of the record
	Failed             uint64  `json:"failed"`
	Masked             uint64  `json:"masked"`   // of those that failed
	TimedOut           uint64  `json:"timedOut"` // of those that failed: no server did that, but the machine
	Judged             uint64  `json:"judged"`   // failed, in the judgement's own count
	LagP99Milliseconds float64 `json:"lagP99Milliseconds"`
	LagMaxMilliseconds float64 `json:"lagMaxMilliseconds"`
	Verdict            string  `json:"verdict"`
	Seen               string  `json:"seen"`
}

// leastCounted is how many outages of a length, or lost requests in all, have to count before anything is said of them.
const leastCounted = 10

// finest is the shortest outage, in milliseconds, of which enough have to count. Shorter ones last about as long as a sender's
// timers are late: on an idle machine, with a request every millisecond, one of a hundred of 2 ms counted.
const finest = 5

// Findings are what is wrong with the instrument, and what is not known of it.
func (i *Instrument) Findings() (wrong, unknown []string) {
	if len(i.Outages)+len(i.Losses) == 0 && i.Soak == nil {
		unknown = append(unknown, "nothing was measured: ask for outages, losses or a soak, or leave the instrument out")
	}
	for _, row := range i.Outages {
		name := strings.Join(row.Lanes, " and ")
		if row.FalseAlarms > 0 {
			wrong = append(wrong, fmt.Sprintf("%d requests on %s every %g ms failed without an outage", row.FalseAlarms, name, row.GapMilliseconds))
		}
		fewest := leastCounted
		for _, l := range row.Lengths {
			all, missed := l.onTime()
			if l.Milliseconds >= finest {
				fewest = min(fewest, all)
			}
			if l.Milliseconds >= 2*row.GapMilliseconds && missed > 0 {
				wrong = append(wrong, fmt.Sprintf("%d of %d outages of %g ms were missed by %s every %g ms, though the worker was not late",
					missed, all, l.Milliseconds, name, row.GapMilliseconds))
			}
		}
		if fewest < leastCounted {
			unknown = append(unknown, fmt.Sprintf("in only %d outages of a length the worker on %s every %g ms was not late: this machine is too busy", fewest, name, row.GapMilliseconds))
		}
		if row.TimedOut > 0 {
			unknown = append(unknown, fmt.Sprintf("%d requests on %s every %g ms timed out without an outage: this machine is too busy",
				row.TimedOut, name, row.GapMilliseconds))
		}
	}
	planted := 0
	for _, row := range i.Losses {
		planted += row.Seen.Of
		if row.Seen.Seen < row.Seen.Of || row.FalseAlarms > 0 {
			wrong = append(wrong, fmt.Sprintf("%d of %d lost requests were missed at %g a second, and %d failed that were not lost",
				row.Seen.Of-row.Seen.Seen, row.Seen.Of, row.RatePerSecond, row.FalseAlarms))
		}
		if row.TimedOut > 0 {
			unknown = append(unknown, fmt.Sprintf("%d requests at %g a second timed out and were not lost: this machine is too busy", row.TimedOut, row.RatePerSecond))
		}
	}
	if len(i.Losses) > 0 && planted < leastCounted {
		unknown = append(unknown, fmt.Sprintf("only %d requests were lost in all: this machine is too busy", planted))
	}
	if i.Soak != nil {
		w, u := i.Soak.findings()
		wrong, unknown = append(wrong, w...), append(unknown, u...)
	}
	return wrong, unknown
}

func (s *Soak) findings() (wrong, unknown []string) {
	const least = 0.95 // what a judge demands, too
	switch {
	case s.Planned != s.Sent+s.Unsent || s.Planned != s.Rows:
		wrong = append(wrong, fmt.Sprintf("of %d requests planned %d were sent and %d unsent, and %d have rows", s.Planned, s.Sent, s.Unsent, s.Rows))
	case s.Failed > s.TimedOut:
		wrong = append(wrong, fmt.Sprintf("a soak of good requests has %d rows that failed otherwise than by time, %d of them masked", s.Failed-s.TimedOut, s.Masked))
	case s.Judged != s.Failed || s.Verdict == "held":
		wrong = append(wrong, fmt.Sprintf("the record of the soak has %d failed rows and no fault, and its verdict is %s: %s", s.Failed, s.Verdict, s.Seen))
	}
	if s.Verdict == "violated" {
		wrong = append(wrong, "the soak was called Violated: "+s.Seen)
	}
	if s.TimedOut > 0 {
		unknown = append(unknown, fmt.Sprintf("%d of the soak's requests timed out: this machine is too busy", s.TimedOut))
	}
	if float64(s.Sent) < least*float64(s.Planned) {
		unknown = append(unknown, fmt.Sprintf("%d of the soak's %d requests were not sent: this machine is too busy", s.Unsent, s.Planned))
	}
	return wrong, unknown
}

// Shortest is the shortest length from which on every outage was seen, also those in which the worker was late, and of which there
// were enough; 0: there is none.
func (r OutageRow) Shortest() (ms float64) {
	for _, l := range r.Lengths {
		switch {
		case l.Seen.Of < leastCounted || l.Seen.Seen < l.Seen.Of:
			ms = 0
		case ms == 0:
			ms = l.Milliseconds
		}
	}
	return ms
}

// Result is the worst of the findings.
func (i *Instrument) Result() Result {
	switch wrong, unknown := i.Findings(); {
	case len(wrong) > 0:
		return Violated
	case len(unknown) > 0:
		return Unknown
	}
	return Held
}

// Sentence is the whole in one line.
func (i *Instrument) Sentence() string {
	var parts []string
	for _, r := range i.Outages {
		if len(r.Lanes) > 1 {
			parts = append(parts, fmt.Sprintf("outages of %s always seen with a request every %g ms", shortest(r), r.GapMilliseconds))
		}
	}
	seen, lost, alarms := 0, 0, 0
	for _, r := range i.Losses {
		seen, lost, alarms = seen+r.Seen.Seen, lost+r.Seen.Of, alarms+r.FalseAlarms
	}
	if len(i.Losses) > 0 {
		parts = append(parts, fmt.Sprintf("%d of %d single lost requests seen", seen, lost))
	}
	if s := i.Soak; s != nil {
		parts = append(parts, fmt.Sprintf("%s of a soak failed (%s not sent)", count(s.Failed)+" of "+plural(s.Sent, "good request"), count(s.Unsent)))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing was measured")
}

// missedLate is how many outages were missed in which the worker was late.
func (r OutageRow) missedLate() (n int) {
	for _, l := range r.Lengths {
		n += l.MissedLate
	}
	return n
}

func shortest(r OutageRow) string {
	if ms := r.Shortest(); ms > 0 {
		return fmt.Sprintf("%g ms", ms)
	}
	return "no length"
}

// markdown writes the tables.
func (i *Instrument) markdown(b *strings.Builder) {
	fmt.Fprintf(b, "\n## The instrument: %s\n\nLoad, record and judgement without a cluster, on loopback, with %s, in %s.\n", mark(i.Result()),
		plural(uint64(i.Processors), "processor"), brief(time.Duration(i.TookSeconds*float64(time.Second))))
	wrong, unknown := i.Findings()
	for _, f := range wrong {
		fmt.Fprintf(b, "\n- ❌ %s", text(f))
	}
	for _, f := range unknown {
		fmt.Fprintf(b, "\n- ❔ %s", text(f))
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
			plural(s.Planned, "request"), s.RatePerSecond, count(s.Sent), count(s.Unsent), plural(s.Rows, "row"), count(s.Failed), count(s.Masked), count(s.TimedOut),
			s.LagP99Milliseconds, s.LagMaxMilliseconds, text(s.Verdict), text(s.Seen))
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
		fmt.Fprintf(b, " %s | %g ms | %d of %d | %d of %s | %d |\n", shortest(r), r.GapMilliseconds, r.missedLate(), r.Late, r.FalseAlarms, count(uint64(r.Requests)), r.TimedOut)
	}
}

func (i *Instrument) losses(b *strings.Builder) {
	if len(i.Losses) == 0 {
		return
	}
	fmt.Fprintf(b, "\n### Single lost requests\n\nOne of %s, reset, closed without an answer, or never answered, in turns.\n\n",
		count(uint64(i.Losses[0].Every)))
	b.WriteString("| a second, on each lane | requests | lost | seen | false alarms | timed out |\n| ---: | ---: | ---: | ---: | ---: | ---: |\n")
	for _, r := range i.Losses {
		fmt.Fprintf(b, "| %g | %s | %d | %d | %d | %d |\n", r.RatePerSecond, count(uint64(r.Requests)), r.Seen.Of, r.Seen.Seen, r.FalseAlarms, r.TimedOut)
	}
}
