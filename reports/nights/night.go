package nights

import (
	"time"

	"github.com/holdfast-ha/holdfast/reports"
)

// Nights are all stored runs and certificates below a folder.
type Nights struct {
	List []Night // in the order of time; those whose time is unknown come first
	// Twice are folders with a run or certificate that another folder has, too. They are not in List, so that no figure counts twice.
	Twice []string
}

// Night is one run, or one certificate.
type Night struct {
	Dir         string // its folder below the one that was read, with slashes; "." for that folder itself
	ID          string
	At          time.Time // when it began, or when the certificate was issued; zero if unknown
	Certificate bool
	Result      reports.Result
	Word        string // the result in the words of its document
	// Trouble says why the run is not whole: it is damaged, cannot be read, was killed or interrupted. Empty if it is.
	Trouble string
	// Page is what a reader can open of it, relative to the folder that was read, with slashes. Anchors: it has one for each scenario.
	Page      string
	Anchors   bool
	Scenarios []Scenario
	// Absurd are the figures that no run can have, in words. They are left out.
	Absurd []string

	seed uint64
}

// Scenario is what a night found about one scenario.
type Scenario struct {
	Name     string
	Mutant   bool
	Result   reports.Result
	Line     Line
	Versions Versions
	// Figures are in the order of Figures; NaN: the night has no such figure of the scenario.
	Figures []float64
}

// Find is a scenario of the night; nil if it has none of the name on the line.
func (n *Night) Find(name string, l Line) *Scenario {
	for i := range n.Scenarios {
		if s := &n.Scenarios[i]; s.Name == name && s.Line == l {
			return s
		}
	}
	return nil
}

// When is the time of the night in words.
func (n *Night) When() string {
	if n.At.IsZero() {
		return "at an unknown time"
	}
	return n.At.UTC().Format("2006-01-02 15:04 UTC")
}
