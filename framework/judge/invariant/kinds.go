package invariant

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"reflect"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/history"
)

// kinds are the promises that a record can hold, by the names of their types. A new promise needs a line here.
var kinds = map[string]func(json.RawMessage) (Invariant, error){
	"NoFailedRequests":  decode[NoFailedRequests],
	"FewFailedRequests": decode[FewFailedRequests],
	"FailuresEndWithin": decode[FailuresEndWithin],
	"BudgetHonoured":    decode[BudgetHonoured],
	"DrainBlocked":      decode[DrainBlocked],
	"DrainCompletes":    decode[DrainCompletes],
	"RolloutCompletes":  decode[RolloutCompletes],
	"Spread":            decode[Spread],
	"SpreadWithin":      decode[SpreadWithin],
	"SpreadTrials":      decode[SpreadTrials],
	"SpreadTogether":    decode[SpreadTogether],
	"PerDomain":         decode[PerDomain],
	"Placed":            decode[Placed],
	"RecoversWithin":    decode[RecoversWithin],
	"ReplacedWithin":    decode[ReplacedWithin],
	"Resumes":           decode[Resumes],
	"AnswersWithin":     decode[AnswersWithin],
	"ResizedInPlace":    decode[ResizedInPlace],
	"AuditMends":        decode[AuditMends],
	"PressureLeaves":    decode[PressureLeaves],
	"PolicyEnforced":    decode[PolicyEnforced],
	"QuietWithin":       decode[QuietWithin],
	"SharesLoad":        decode[SharesLoad],
	"Placement":         decode[Placement],
	"APIAnswersWithin":  decode[APIAnswersWithin],
}

// Kinds lists the names of the promises that a record can hold, sorted.
func Kinds() []string { return slices.Sorted(maps.Keys(kinds)) }

// Of is a promise of a kind, without parameters; nil: this version does not know the kind.
func Of(kind string) Invariant {
	p, err := Decode(history.Promise{Kind: kind})
	if err != nil {
		return nil
	}
	return p
}

// Extend adds a promise of another module to the kinds that a record can hold. Call it in main, before anything is run or judged.
func Extend[T Invariant]() error {
	var promise T
	kind := Kind(promise)
	if _, taken := kinds[kind]; taken {
		return fmt.Errorf("add promise %s: a promise of that name exists", kind)
	}
	kinds[kind] = decode[T]
	return nil
}

// Kind names a promise's type, for example NoFailedRequests.
func Kind(i Invariant) string { return reflect.Indirect(reflect.ValueOf(i)).Type().Name() }

// Encode converts a promise and its parameters to the form in which a record stores them.
func Encode(i Invariant) (history.Promise, error) {
	kind := Kind(i)
	if _, known := kinds[kind]; !known {
		return history.Promise{}, fmt.Errorf("encode promise %q: kind %s is not one that a record can hold", i, kind)
	}
	params, err := json.Marshal(i)
	if err != nil {
		return history.Promise{}, fmt.Errorf("encode promise %q: %w", i, err)
	}
	return history.Promise{Kind: kind, Params: params}, nil
}

// Decode reads a promise from a record. An unknown kind or parameter is an error, because the promise would not be the one that was
// made.
func Decode(p history.Promise) (Invariant, error) {
	read, known := kinds[p.Kind]
	if !known {
		return nil, fmt.Errorf("decode promise: this version of holdfast does not know kind %q; it knows %s", p.Kind, prose.List(Kinds()))
	}
	i, err := read(p.Params)
	if err != nil {
		return nil, fmt.Errorf("decode promise %s: %w", p.Kind, err)
	}
	return i, nil
}

func decode[T Invariant](params json.RawMessage) (Invariant, error) {
	var promise T
	if len(params) == 0 {
		return promise, nil
	}
	d := json.NewDecoder(bytes.NewReader(params))
	d.DisallowUnknownFields()
	if err := d.Decode(&promise); err != nil {
		return nil, err
	}
	return promise, nil
}
