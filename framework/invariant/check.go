package invariant

import (
	"cmp"
	"regexp"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// CheckAll judges a record by each promise and returns their verdicts in the same order. It reads the requests once,
// whatever the number of promises, in memory that does not grow with them. A record whose requests cannot be read to
// their end gets no Held.
func CheckAll(run history.Run, promises []Invariant) []Verdict {
	verdicts, _ := checkAll(run, promises)
	return verdicts
}

// Check judges a record by one promise.
func Check(run history.Run, p Invariant) Verdict { return CheckAll(run, []Invariant{p})[0] }

// checkAll also returns why the requests could not be read to their end.
func checkAll(run history.Run, promises []Invariant) ([]Verdict, error) {
	f := newFacts(run)
	t := newTally(f)
	running := make([]judgement, len(promises))
	var all []judgement
	for i, p := range promises {
		if s, ok := p.(streaming); ok {
			running[i] = s.start(f, t)
			all = append(all, running[i])
		}
	}
	t.read(run.Requests, func(r *history.Request) {
		for _, j := range all {
			j.take(r)
		}
	})
	verdicts := make([]Verdict, len(promises))
	prefix := nodePrefix(run.Header.Cluster.Name)
	for i, p := range promises {
		var v Verdict
		switch s, ok := p.(still); {
		case ok:
			v = s.judge(f)
		case running[i] != nil:
			v = running[i].end()
		default:
			v = Verdict{}.unknown(doubts{"this promise judges neither events nor requests"})
		}
		v = f.moved(p, v)
		if t.err != nil && v.Outcome == Held {
			v = v.unknown(doubts{unread(t.err)})
		}
		v.Promise, v.Kind = cmp.Or(v.Promise, p.String()), cmp.Or(v.Kind, Kind(p))
		verdicts[i] = v.shorten(prefix)
	}
	return verdicts, t.err
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
func (v Verdict) shorten(prefix *regexp.Regexp) Verdict {
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
func Judge(run history.Run) []Verdict {
	promises := make([]Invariant, len(run.Header.Promises))
	for i, stored := range run.Header.Promises {
		p, err := Decode(stored)
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
func unproven(verdicts []Verdict, why string) {
	for i, v := range verdicts {
		if v.Outcome != Violated {
			continue
		}
		verdicts[i] = v.unknown(doubts{why})
		verdicts[i].Seen += "; what is left of it says: " + v.Seen
		verdicts[i].support(v.Evidence...)
	}
}

// undecoded stands for a promise that could not be read.
type undecoded struct {
	stored history.Promise
	err    error
}

func (p undecoded) String() string { return p.stored.Kind + " " + string(p.stored.Params) }

func (p undecoded) judge(*facts) Verdict {
	return Verdict{Kind: p.stored.Kind}.unknown(doubts{p.err.Error()})
}

// Overall sums verdicts up: Violated beats Unknown beats Held. No verdict at all is Unknown, as is any other word.
func Overall(verdicts []Verdict) Outcome {
	overall := Held
	if len(verdicts) == 0 {
		overall = Unknown
	}
	for i := range verdicts {
		switch verdicts[i].Outcome {
		case Held:
		case Violated:
			return Violated
		default:
			overall = Unknown
		}
	}
	return overall
}
