package judge

import (
	"cmp"
	"regexp"
	"slices"

	"github.com/holdfast-ha/holdfast/framework/analysis/evidence"
	"github.com/holdfast-ha/holdfast/framework/analysis/requests"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/invariant"
	"github.com/holdfast-ha/holdfast/framework/verdict"
)

// CheckAll judges a record by each promise and returns their verdicts in the same order. It reads the requests once,
// whatever the number of promises, in memory that does not grow with them. A record whose requests cannot be read to
// their end gets no Held.
func CheckAll(run history.Run, promises []invariant.Invariant) []verdict.Verdict {
	verdicts, _ := checkAll(run, promises)
	return verdicts
}

// Check judges a record by one promise.
func Check(run history.Run, p invariant.Invariant) verdict.Verdict {
	return CheckAll(run, []invariant.Invariant{p})[0]
}

// checkAll also returns why the requests could not be read to their end.
func checkAll(run history.Run, promises []invariant.Invariant) ([]verdict.Verdict, error) {
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
		missing := slices.Clip(f.Lacks(p.Needs()))
		var v verdict.Verdict
		switch s, ok := p.(invariant.EventInvariant); {
		case ok:
			v = s.Judge(f, missing)
		case running[i] != nil:
			v = running[i].End(missing)
		default:
			v = verdict.Verdict{}.Unknown(verdict.Missing{"this promise judges neither events nor requests"})
		}
		if v.Outcome == verdict.Held && len(missing) > 0 {
			v = v.Unknown(missing)
		}
		v = moved(f, p, v)
		if t.Err != nil && v.Outcome == verdict.Held {
			v = v.Unknown(verdict.Missing{unread(t.Err)})
		}
		v.Promise, v.Kind = cmp.Or(v.Promise, p.String()), cmp.Or(v.Kind, invariant.Kind(p))
		verdicts[i] = shorten(v, prefix)
	}
	return verdicts, t.Err
}

func unread(err error) string { return "the requests could not be read to their end: " + err.Error() }

// nodePrefix finds the cluster's name at the beginning of a name, and not within one: a cluster may be called "end". It
// is nil when the cluster has no name.
func nodePrefix(cluster string) *regexp.Regexp {
	if cluster == "" {
		return nil
	}
	return regexp.MustCompile(`(^|[^\w.-])` + regexp.QuoteMeta(cluster) + "-")
}

// shorten leaves the cluster's name out of the names of its nodes, which begin with it.
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

// Judge judges a record by the promises that are written in it, with the parameters they had when it was made. A
// promise that this version does not know is Unknown, and so is every promise of a record that is not whole: what is left
// of it may have been changed, so it proves no failure either, and no mutant was caught by it. The verdict tells what is left.
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
		unproven(verdicts, "the record is not whole: "+run.Incomplete)
	case err != nil:
		unproven(verdicts, unread(err))
	}
	return verdicts
}

// unproven takes back what was seen to be violated.
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

// undecoded stands for a promise that could not be read.
type undecoded struct {
	stored history.Promise
	err    error
}

func (p undecoded) String() string { return p.stored.Kind + " " + string(p.stored.Params) }

func (p undecoded) Needs() evidence.Needs { return evidence.Needs{} }

func (p undecoded) Judge(*evidence.Run, verdict.Missing) verdict.Verdict {
	return verdict.Verdict{Kind: p.stored.Kind}.Unknown(verdict.Missing{p.err.Error()})
}

// Overall sums verdicts up: Violated beats Unknown beats Held. No verdict at all is Unknown, as is any other word.
func Overall(verdicts []verdict.Verdict) verdict.Outcome {
	overall := verdict.Held
	if len(verdicts) == 0 {
		overall = verdict.Unknown
	}
	for i := range verdicts {
		switch verdicts[i].Outcome {
		case verdict.Held:
		case verdict.Violated:
			return verdict.Violated
		default:
			overall = verdict.Unknown
		}
	}
	return overall
}
