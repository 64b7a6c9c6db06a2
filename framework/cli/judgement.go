package cli

import (
	"fmt"
	"io"
	"strings"

	"github.com/jedib0t/go-pretty/v6/text"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/stored"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// columns is the width of what is printed.
const columns = 100

// writeJudgement prints what was found in stored records, in lines of at most 100 columns: each promise with its verdict and what was seen,
// the causes and notes of the mutants, and the summary.
func writeJudgement(out io.Writer, found stored.Judgement) {
	for _, s := range found.Scenarios {
		_, _ = fmt.Fprintln(out, s.Result.Name)
		switch {
		case s.Result.NotSupported != "":
			writeVerdict(out, "not supported", s.Result.NotSupported)
		case s.Result.Left():
			writeVerdict(out, runfolder.OutcomeInterrupted, s.Result.Interrupted)
		case s.Caught != nil:
			writeVerdict(out, caughtWord(*s.Caught), s.Caught.Promise, s.Caught.Seen)
		}
		for _, v := range s.Verdicts {
			writePromise(out, v)
		}
	}
	writeCauses(out, &found.Causes)
	writeNotes(out, found.Sum)
	for _, s := range found.Sum.Scenarios {
		if s.Error != "" {
			_, _ = fmt.Fprintf(out, "%s: the harness or its environment failed: %s\n", s.Name, s.Error)
		}
	}
	for _, lack := range found.Lacks {
		_, _ = fmt.Fprintln(out, lack)
	}
	if len(found.Sum.Scenarios) > 0 {
		_, _ = fmt.Fprintln(out, summaryOf(found.Sum))
	}
}

// writeRecorded prints each promise of a run that was recorded, with its verdict and what was seen. Verdicts that cannot be read are in the report.
func writeRecorded(out io.Writer, f runfolder.File) {
	for _, s := range f.Scenarios {
		found, _ := judge.Listed(&s)
		for _, v := range found.Verdicts {
			writePromise(out, v)
		}
	}
}

// width is that of the word before each text.
const width = len("not supported")

// writePromise prints a promise with its verdict and what was seen. One that was not tested takes one line, because there may be many and nothing
// was found of them: its reason is there if it fits. All of it is in the report.
func writePromise(out io.Writer, v verdict.Verdict) {
	if !v.Untested {
		writeVerdict(out, string(v.Outcome), v.Promise, v.Seen)
		return
	}
	const room = columns - width - 3
	line := v.Promise + ": " + strings.TrimPrefix(v.Seen, verdict.NotTestedWords)
	if text.StringWidth(line) > room {
		line = text.Snip(v.Promise, room, " ...")
	}
	writeVerdict(out, "not tested", line)
}

// writeVerdict prints a word, and texts beside it, each wrapped on lines of its own.
func writeVerdict(out io.Writer, word string, texts ...string) {
	for _, one := range texts {
		for line := range strings.SplitSeq(text.WrapSoft(one, columns-width-3), "\n") {
			_, _ = fmt.Fprintf(out, "  %-*s %s\n", width, word, strings.TrimRight(line, " "))
			word = ""
		}
	}
}

// writeCauses prints how many mutants were caught for the planted cause, and the other causes that were reported.
func writeCauses(out io.Writer, c *judge.Confusion) {
	agree, of := c.Agree()
	if of == 0 {
		return
	}
	_, _ = fmt.Fprintf(out, "causes: %d of %d mutants were caught for the reason that was planted\n", agree, of)
	for _, planted := range c.Planted {
		for _, reported := range c.Reported {
			if n := c.Count(planted, reported); n > 0 && planted != reported {
				_, _ = fmt.Fprintf(out, "causes: %s was planted, and %s reported (%d)\n", planted, reported, n)
			}
		}
	}
}
