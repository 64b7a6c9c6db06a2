package selftest

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/words"
)

// Instrument is what load and record see, and that they report no failures that did not happen, measured on loopback without a cluster.
type Instrument struct {
	Processors  int         `json:"processors"`
	TookSeconds float64     `json:"tookSeconds"`
	Outages     []OutageRow `json:"outages,omitempty"`
	Losses      []LossRow   `json:"losses,omitempty"`
	Soak        *Soak       `json:"soak,omitempty"`
}

// OutageRow is what one lane saw of the outages, or what lanes with alternating requests saw together.
type OutageRow struct {
	Lanes []string `json:"lanes"`
	// GapMilliseconds is the time between one request and the next. An outage of that length always meets a request.
	GapMilliseconds float64        `json:"gapMilliseconds"`
	Requests        int            `json:"requests"`
	Lengths         []OutageLength `json:"lengths"`
	// Late is the number of outages in which the worker was late or stood still. They count like all others.
	Late        int `json:"late"`
	FalseAlarms int `json:"falseAlarms"` // failed requests that no outage hit, without those that
	TimedOut    int `json:"timedOut"`    // had no answer in time: the machine was too slow, not a server
	// Unrecorded is the number of requests that an outage reset and that have no failed row.
	Unrecorded int `json:"unrecorded,omitempty"`
}

// OutageLength is what was seen of the outages of one length.
type OutageLength struct {
	Milliseconds float64 `json:"milliseconds"`
	// Seen counts all outages, whatever the worker did during them. An outage that became longer than planned counts only if it was missed.
	Seen Rate `json:"seen"`
	// Late is the number of outages in which the worker was late, and MissedLate the number of those that were missed: a run's
	// verdict says for how long nothing was sent. Reports of older versions do not count late outages at all.
	Late       int `json:"late,omitempty"`
	MissedLate int `json:"missedLate,omitempty"`
	// Expected is the share of outages that meet a request, calculated from the gap between requests.
	Expected float64 `json:"expected"`
}

// onTime counts the outages in which the worker was not late, and how many of those were missed.
func (l OutageLength) onTime() (all, missed int) {
	return l.Seen.Of - l.Late, l.Seen.Of - l.Seen.Seen - l.MissedLate
}

// LossRow is what was seen of single requests that a server lost. The server takes turns: it resets the connection, closes it without
// an answer, or never answers.
type LossRow struct {
	RatePerSecond float64 `json:"ratePerSecond"` // of each lane
	Every         int     `json:"every"`
	Requests      int     `json:"requests"`
	Seen          Rate    `json:"seen"` // lost requests with a failed row
	FalseAlarms   int     `json:"falseAlarms"`
	TimedOut      int     `json:"timedOut"` // but were not lost
}

// Soak is what the record says of requests of which none was lost.
type Soak struct {
	RatePerSecond      float64 `json:"ratePerSecond"` // all lanes together
	TookSeconds        float64 `json:"tookSeconds"`
	Planned            uint64  `json:"planned"` // these three are the worker's counts
	Sent               uint64  `json:"sent"`
	Unsent             uint64  `json:"unsent"`
	Rows               uint64  `json:"rows"` // of the record
	Failed             uint64  `json:"failed"`
	Masked             uint64  `json:"masked"`   // of those that failed
	TimedOut           uint64  `json:"timedOut"` // of those that failed: the machine was too slow, not a server
	Judged             uint64  `json:"judged"`   // failed, as counted by the verdict
	LagP99Milliseconds float64 `json:"lagP99Milliseconds"`
	LagMaxMilliseconds float64 `json:"lagMaxMilliseconds"`
	Verdict            string  `json:"verdict"`
	Seen               string  `json:"seen"`
}

// leastCounted is the least number of outages of a length, or of lost requests in all, that allows a conclusion.
const leastCounted = 10

// finest is the shortest length of outages, in milliseconds, that a request is certain to meet, and of which leastCounted must count. A
// request takes part of a millisecond from its sender to the server, and a sender's timers are late by up to two: a request that was
// sent in time during a shorter outage can arrive when the outage is over. On an idle machine, with a request every millisecond, one of
// a hundred outages of 2 ms counted.
const finest = 5

// Findings are what is wrong with the instrument, and what could not be found out.
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
		if row.Unrecorded > 0 {
			wrong = append(wrong, fmt.Sprintf("%d requests on %s every %g ms were reset by an outage and have no failed row",
				row.Unrecorded, name, row.GapMilliseconds))
		}
		for _, l := range row.Lengths {
			all, missed := l.onTime()
			if l.Milliseconds >= finest {
				fewest = min(fewest, all)
			}
			if l.Milliseconds >= max(finest, 2*row.GapMilliseconds) && missed > 0 {
				wrong = append(wrong, fmt.Sprintf("%d of %d outages of %g ms were missed by %s every %g ms, though the worker was not late",
					missed, all, l.Milliseconds, name, row.GapMilliseconds))
			}
		}
		if fewest < leastCounted {
			unknown = append(unknown, fmt.Sprintf("in only %d outages of a length the worker on %s every %g ms was not late: this machine is too busy",
				fewest, name, row.GapMilliseconds))
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
			unknown = append(unknown, fmt.Sprintf("%d requests at %g a second timed out and were not lost: this machine is too busy",
				row.TimedOut, row.RatePerSecond))
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
	const least = 0.95 // the same as for a verdict
	switch {
	case s.Planned != s.Sent+s.Unsent || s.Planned != s.Rows:
		wrong = append(wrong, fmt.Sprintf("of %d requests planned %d were sent and %d unsent, and %d have rows",
			s.Planned, s.Sent, s.Unsent, s.Rows))
	case s.Failed > s.TimedOut:
		wrong = append(wrong, fmt.Sprintf("a soak of good requests has %d rows that failed otherwise than by time, %d of them masked",
			s.Failed-s.TimedOut, s.Masked))
	case s.Judged != s.Failed || s.Verdict == "held":
		wrong = append(wrong, fmt.Sprintf("the record of the soak has %d failed rows and no fault, and its verdict is %s: %s",
			s.Failed, s.Verdict, s.Seen))
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

// Shortest is the shortest length, in milliseconds, such that every outage of that length and of all greater lengths was seen, even if
// the worker was late, and leastCounted of each counted. 0: there is none.
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

// Result is Violated if something is wrong, and Unknown if something could not be found out.
func (i *Instrument) Result() reports.Result {
	switch wrong, unknown := i.Findings(); {
	case len(wrong) > 0:
		return reports.Violated
	case len(unknown) > 0:
		return reports.Unknown
	}
	return reports.Held
}

// Sentence sums up the measurement in one line.
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
		parts = append(parts, fmt.Sprintf("%s of a soak failed (%s not sent)", words.Count(s.Failed)+" of "+words.Plural(s.Sent, "good request"), words.Count(s.Unsent)))
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing was measured")
}

// missedLate is the number of missed outages in which the worker was late.
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
