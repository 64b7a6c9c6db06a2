package requests

import (
	"testing"
	"time"
)

// A load that is even is not seen as bursts however long it lasts, and a second without a request is seen in it.
func TestALongLoad(t *testing.T) {
	const each = 10 * time.Millisecond
	for _, length := range []time.Duration{time.Minute, time.Hour, 28 * time.Hour} {
		w := &Watch{To: length, step: sendStep}
		w.coarsen(maxLaneSteps)
		sent := w.empty()
		away := length / 2
		for at := time.Duration(0); at < length; at += each {
			if at < away || at >= away+time.Second {
				sent.add(w, at)
			}
		}
		longest, beyond := sent.gaps(w, farApart)
		if longest.length < time.Second || longest.length > time.Second+each+w.step || longest.from < away-each-w.step || longest.from > away {
			t.Errorf("in %s the longest gap is %s at %s, want a second at %s", length, longest.length, longest.from, away)
		}
		if want := longest.length - farApart; beyond != want {
			t.Errorf("in %s, %s are unseen, want %s, of the one gap", length, beyond, want)
		}
		if bytes := len(sent) * 8; bytes > 8<<20 {
			t.Errorf("a lane of %s takes %d bytes", length, bytes)
		}
	}
}

// A worker's part of a lane takes little memory: there may be hundreds.
func TestWorkersOfALongLoad(t *testing.T) {
	stats := &Stats{Watch: &Watch{To: 28 * time.Hour, step: 2 * sendStep}}
	sent, w := stats.workerSends()
	if len(sent)*8 > 128<<10 || w.step <= stats.Watch.step || w.To != stats.Watch.To {
		t.Errorf("%d bytes in steps of %s until %s", len(sent)*8, w.step, w.To)
	}
	short := &Stats{Watch: &Watch{To: 10 * time.Minute, step: sendStep}}
	if _, w := short.workerSends(); w.step != sendStep {
		t.Errorf("ten minutes have steps of %s", w.step)
	}
}
