package invariant

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// SpreadWithin promises that a spread which a fault unbalanced is restored: within a limit after the last fault was seen
// the workload has settled with a difference of at most Max between the fullest and the emptiest domain of a topology,
// and whenever it settles from then on, until the end of Recovered, the difference is no larger.
//
// The scheduler moves no pod that runs, so this asks for something that does. Domains are those of Spread.
//
// Evidence: that of Spread, and that the workload was seen settled with a larger difference once the last fault had
// begun. It must have been watched for as long as the limit, unless its spread was restored before.
type SpreadWithin struct {
	// Workload is the Deployment; empty means the only one in the record.
	Workload string `json:"workload,omitempty"`
	// TopologyKey and Max are Spread's.
	TopologyKey string        `json:"topologyKey"`
	Max         int           `json:"max"`
	Limit       time.Duration `json:"limit"`
}

func (p SpreadWithin) String() string {
	return fmt.Sprintf("the spread of %s over %s is back at a skew of at most %d within %s of being unbalanced",
		cmp.Or(p.Workload, "the workload"), p.TopologyKey, p.Max, p.Limit)
}

func (p SpreadWithin) judge(f *facts) Verdict {
	key, missing := workloadOf(f.run, p.Workload)
	d := slices.Concat(f.inOrder(f.begin()), f.faultsBit(true), missing)
	began, seen, ok := f.lastFault()
	if !ok || len(missing) > 0 { // without a fault that was seen, faultsBit has said why
		return Verdict{}.unknown(d)
	}
	l := followDistribution(f, key, p.TopologyKey, false)
	d = append(d, l.doubts(key.Name)...)
	v := Verdict{}
	ledger := followSkew(f, p.TopologyKey, key)
	ledger.count(&v, p.Max)
	l.blame(ledger, p.Max)
	r := p.follow(l, began)
	v.measure("allowedSkew", float64(p.Max))
	v.measure("limitSeconds", p.Limit.Seconds())
	v.measure("largestSkew", float64(r.worst))
	var told *skewChange
	for _, placed := range l.distributions {
		if placed.at >= began {
			v.support(placed.evidence(fmt.Sprintf("%s: %s, skew %d", moment(placed.at), placed, placed.skew()), &told)...)
		}
	}
	if r.last == nil {
		d.add("%s was never seen settled with a skew above %d after the fault began at %s: there was nothing to restore",
			key.Name, p.Max, moment(began))
		return v.unknown(d)
	}
	return p.verdict(f, v, d, key.Name, seen, r)
}

func (p SpreadWithin) verdict(f *facts, v Verdict, d doubts, name string, seen history.Offset, r restoration) Verdict {
	deadline := seen + p.Limit
	if r.good == nil {
		watched := f.end() - seen
		v.measure("watchedSeconds", watched.Seconds())
		if f.unseen(deadline, f.end()) || r.last.blind {
			return v.unknown(append(d, "where the pods were at the end is not known: a watch was blind"))
		}
		if watched < p.Limit {
			d.add("the spread of %s was not restored when the watching ended, %s after the fault was seen: %s", name, moment(watched), r.last)
			return v.unknown(d)
		}
		if unsure := f.orInTime(seen, f.end(), p.Limit); len(unsure) > 0 {
			return v.unknown(append(d, unsure...))
		}
		v.At = deadline
		return v.violated(d, "the spread of %s was not restored %s after the fault was seen at %s: %s, skew %d, and %d is allowed",
			name, moment(watched), moment(seen), r.last, r.last.skew(), p.Max)
	}
	took := max(0, r.good.at-seen)
	v.measure("restoredSeconds", took.Seconds())
	if took > p.Limit {
		if f.unseen(deadline, r.good.at) {
			return v.unknown(append(d, "when the spread was restored is not known: a watch was blind"))
		}
		if unsure := f.orInTime(seen, r.good.at, p.Limit); len(unsure) > 0 {
			return v.unknown(append(d, unsure...))
		}
		v.At = deadline
		return v.violated(d, "the spread of %s was restored %s after the fault was seen at %s, and %s was the limit: %s",
			name, moment(took), moment(seen), p.Limit, r.good)
	}
	d = append(d, f.orTooLate(seen, r.good.at, p.Limit)...)
	return v.held(d, "the spread of %s was restored %s after the fault was seen at %s: from %s, skew %d, to %s, skew %d",
		name, moment(took), moment(seen), r.from, r.worst, r.good, r.good.skew())
}

// restoration is how a spread came back.
type restoration struct {
	from, last *distribution // of those that were too uneven: the worst, and the last
	good       *distribution // with which it was restored for good; nil: it was not
	worst      int           // the skew of the worst
}

func (p SpreadWithin) follow(l distributions, from history.Offset) (r restoration) {
	for _, placed := range l.distributions {
		switch skew := placed.skew(); {
		case placed.at < from:
		case skew > p.Max:
			if skew >= r.worst {
				r.from, r.worst = placed, skew
			}
			r.last, r.good = placed, nil
		case r.good == nil && r.last != nil:
			r.good = placed
		}
	}
	return r
}
