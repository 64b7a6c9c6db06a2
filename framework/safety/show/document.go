package show

import (
	"encoding/json"
	"io"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
)

// The version and the kind of a Document.
const (
	APIVersion = "holdfast.dev/v1alpha1"
	Kind       = "Plan"
)

// Document is a plan as `holdfast plan -o json` writes it.
type Document struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
	// Goes is false if anything is refused.
	Goes bool `json:"goes"`
	disturb.Plan
	// Facts are what was found out about the cluster.
	Facts []Fact `json:"facts"`
}

// Fact is something that was found out about the cluster.
type Fact struct {
	Name string `json:"name"`
	Is   string `json:"is,omitempty"`  // empty: not known
	Why  string `json:"why,omitempty"` // why nothing is known, or what a reader must know
}

// Of is the document of a plan.
func Of(p disturb.Plan, facts []existing.Fact) Document {
	d := Document{APIVersion: APIVersion, Kind: Kind, Goes: !p.Refused(), Plan: p, Facts: []Fact{}}
	for _, f := range facts {
		d.Facts = append(d.Facts, Fact(f))
	}
	return d
}

// JSON writes the document.
func (d Document) JSON(out io.Writer) error {
	e := json.NewEncoder(out)
	e.SetIndent("", "  ")
	return e.Encode(d)
}
