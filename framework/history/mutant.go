package history

import "encoding/json"

// Mutant says what was broken on purpose, and which promise must catch it.
type Mutant struct {
	Removed  string `json:"removed"`
	CaughtBy string `json:"caughtBy"` // an invariant's kind
	Twin     string `json:"twin"`     // the scenario with the practice in place
	// Params are the parameters of the promise, as they stand among the record's promises. Empty in older records: any will do.
	Params json.RawMessage `json:"params,omitempty"`
	// Lanes are those on which requests must fail, each of them. Empty: every lane that the promise judges and that was planned; in
	// a record without Params, any of those.
	Lanes []Lane `json:"lanes,omitempty"`
	// Harness is set when it is the harness that was broken, and not the workload: the promise must then be Unknown.
	Harness bool `json:"harness,omitempty"`
	// Doubt is why the promise must be Unknown, an invariant.Doubt. Empty in older records, which know one only.
	Doubt string `json:"doubt,omitempty"`
	// Cause is what its verdict must name as the reason, an invariant.Cause; empty where none is named, as in older records.
	Cause string `json:"cause,omitempty"`
	// Trap is set when the server waits for a request to hurt: how often the mutant is caught says then how often holdfast sees
	// what is there to be seen, and not how often a server without the practice hurts a request.
	Trap bool `json:"trap,omitempty"`
	// ByChance is set when the mutant need not hurt any request. How often it is caught is told, and a run that does not catch it
	// has not failed.
	ByChance bool `json:"byChance,omitempty"`
}

// TwinNote says what a reader of a mutant's result must know of the scenario that it was made from: only one that held in the same
// run shows that it was the missing practice that was caught. Outcome is that of the twin, empty if it was not judged; run tells
// whether it was part of the run. Empty: the twin held.
func (m Mutant) TwinNote(outcome string, run bool) string {
	switch {
	case m.Twin == "" || !run:
		return "its twin was not run"
	case outcome == "held":
		return ""
	case outcome == "":
		return "its twin was not judged in the same run"
	}
	return "its twin was " + outcome + " in the same run"
}

// TrapWords say what a server does that sets a trap.
const TrapWords = "it waits up to a second for a request that it can hurt"

// Notes are what must be said wherever it is said that the mutant was caught, or was not.
func (m Mutant) Notes(twin string) (notes []string) {
	if m.Trap {
		notes = append(notes, "its server sets a trap: "+TrapWords)
	}
	if m.ByChance {
		notes = append(notes, "it is caught by chance alone: how often is counted, and not demanded")
	}
	if twin != "" {
		notes = append(notes, twin)
	}
	return notes
}

// TwinNote is Mutant.TwinNote for a mutant of this run.
func (f RunFile) TwinNote(m Mutant) string {
	for _, s := range f.Scenarios {
		if s.Name == m.Twin {
			return m.TwinNote(s.Outcome, true)
		}
	}
	return m.TwinNote("", false)
}
