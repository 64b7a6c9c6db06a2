package judge

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/judge/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

// CheckAll judges a record by each promise and returns the verdicts in the same order. It reads the requests once, however many
// promises there are, in memory that does not grow with the requests. If the requests cannot be read to their end, no verdict is
// Held.
func CheckAll(run history.Run, promises []invariant.Invariant) []verdict.Verdict {
	verdicts, _ := checkAll(run, promises)
	return verdicts
}

// Check judges a record by one promise.
func Check(run history.Run, p invariant.Invariant) verdict.Verdict {
	return CheckAll(run, []invariant.Invariant{p})[0]
}

// checkAll also returns the error that ended the reading of the requests.
func checkAll(run history.Run, promises []invariant.Invariant) ([]verdict.Verdict, error) {
	if run.Header.Recorded != nil {
		return checkRecording(run, promises)
	}
	f := evidence.New(run)
	t := requests.NewTally(f)
	running := make([]invariant.RequestCheck, len(promises))
	var all []invariant.RequestCheck
	for i, p := range promises {
		if s, ok := p.(invariant.RequestInvariant); ok {
			running[i] = s.Requests(f, t)
			all = append(all, running[i])
		}
	}
	t.Read(run.Requests, func(r *history.Request) {
		for _, j := range all {
			j.Take(r)
		}
	})
	verdicts := make([]verdict.Verdict, len(promises))
	prefix := nodePrefix(run.Header.Cluster.Name)
	for i, p := range promises {
		v := one(f, p, running[i])
		if t.Err != nil && v.Outcome == verdict.Held {
			v = v.Unknown(verdict.Missing{unread(t.Err)})
		}
		verdicts[i] = shorten(v, prefix)
	}
	return verdicts, t.Err
}

// one judges a record by one promise. The requests were passed to its check, if it is about requests.
func one(f *evidence.Run, p invariant.Invariant, check invariant.RequestCheck) (v verdict.Verdict) {
	missing := slices.Clip(f.Lacks(p.Needs()))
	switch s, ok := p.(invariant.EventInvariant); {
	case ok:
		v = s.Judge(f, missing)
	case check != nil:
		v = check.End(missing)
	default:
		v = verdict.Verdict{}.Unknown(verdict.Missing{"this promise judges neither events nor requests"})
	}
	if v.Outcome == verdict.Held && len(missing) > 0 {
		v = v.Unknown(missing)
	}
	v = moved(f, p, v)
	v.Promise, v.Kind = cmp.Or(v.Promise, p.String()), cmp.Or(v.Kind, invariant.Kind(p))
	return v
}

func unread(err error) string { return "the requests could not be read to their end: " + err.Error() }

// nodePrefix matches the cluster's name at the start of a name only, because a cluster may be called "end". It is nil when the
// cluster has no name.
func nodePrefix(cluster string) *regexp.Regexp {
	if cluster == "" {
		return nil
	}
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(cluster) + "-")
}

// shorten removes the cluster's name from the names of its nodes, which start with it.
func shorten(v verdict.Verdict, prefix *regexp.Regexp) verdict.Verdict {
	if prefix == nil {
		return v
	}
	v.Seen = prefix.ReplaceAllString(v.Seen, "$1")
	for i := range v.Evidence {
		v.Evidence[i] = prefix.ReplaceAllString(v.Evidence[i], "$1")
	}
	return v
}

// Judge judges a record by the promises that are stored in it, with the parameters of the run. A promise of an unknown kind is
// Unknown. In a record that is not whole, a promise that was broken is Unknown, too: the rest of the record may have been changed,
// so it proves no failure, and no mutant was caught by it. The verdict says what the rest of the record shows.
func Judge(run history.Run) []verdict.Verdict {
	promises := make([]invariant.Invariant, len(run.Header.Promises))
	for i, stored := range run.Header.Promises {
		p, err := invariant.Decode(stored)
		if err != nil {
			p = undecoded{stored, err}
		}
		promises[i] = p
	}
	verdicts, err := checkAll(run, promises)
	switch {
	case run.Incomplete != "":
		unproven(verdicts, "the record is incomplete: "+run.Incomplete)
	case err != nil:
		unproven(verdicts, unread(err))
	}
	return verdicts
}

// unproven turns Violated into Unknown.
func unproven(verdicts []verdict.Verdict, why string) {
	for i, v := range verdicts {
		if v.Outcome != verdict.Violated {
			continue
		}
		verdicts[i] = v.Unknown(verdict.Missing{why})
		verdicts[i].Seen += "; what is left of it says: " + v.Seen
		verdicts[i].Support(v.Evidence...)
	}
}

// undecoded stands for a stored promise that could not be decoded.
type undecoded struct {
	stored history.Promise
	err    error
}

func (p undecoded) String() string { return p.stored.Kind + " " + string(p.stored.Params) }

func (p undecoded) Needs() evidence.Needs { return evidence.Needs{} }

func (p undecoded) Judge(*evidence.Run, verdict.Missing) verdict.Verdict {
	return verdict.Verdict{Kind: p.stored.Kind}.Unknown(verdict.Missing{p.err.Error()})
}

// Overall adds verdicts up, see verdict.Overall.
func Overall(verdicts []verdict.Verdict) verdict.Outcome { return verdict.Overall(verdicts) }
