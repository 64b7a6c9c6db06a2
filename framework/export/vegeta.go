package export

import (
	"bufio"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"

	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// key names a sequence of requests.
type key struct {
	worker string
	lane   history.Lane
}

// Vegeta writes the requests of some lanes of a record (lanes none: all except the control lane) as vegeta's results. It
// leaves out unsent requests, and those that were not due under load: vegeta knows neither. It reads the requests twice, and
// writes nothing of a record whose requests cannot be read.
//
// Each lane is an attack; with several workers, each lane of each worker. Results are numbered from zero without gaps, in the
// order in which they were due, because vegeta plot draws nothing after a gap. A result's time is when the request was due, and
// not when it was sent, so a client that lags does not hide waiting time.
func Vegeta(to io.Writer, run history.Run, lanes []history.Lane) ([]Counts, error) {
	s := scopeOf(run, lanes)
	var counts counted
	shares := run.Shares()
	numbers := make(map[key]*ranks)
	workers := make(map[string]bool)
	for r, err := range run.Requests() {
		if err != nil {
			return nil, fmt.Errorf("export %s: %w", s.scenario, err)
		}
		if !s.wants(r.Lane) || !counts.add(s, r) {
			continue
		}
		k := key{r.Worker, r.Lane}
		if numbers[k] == nil {
			numbers[k] = &ranks{}
		}
		numbers[k].add(shares[r.Worker].Nth(r.Seq))
		workers[r.Worker] = true
	}
	for _, n := range numbers {
		n.count()
	}
	w := vegetaWriter{run: run, scope: s, numbers: numbers, shares: shares, manyWorkers: len(workers) > 1}
	return counts.sorted(), w.write(to)
}

// vegetaWriter reads the requests the second time, and writes the results.
type vegetaWriter struct {
	run         history.Run
	scope       scope
	numbers     map[key]*ranks
	shares      map[string]history.Share // without one, a worker numbers its own requests
	manyWorkers bool
}

func (w vegetaWriter) write(to io.Writer) error {
	buffered := bufio.NewWriterSize(to, 1<<16)
	encode := vegeta.NewEncoder(buffered)
	urls := make(map[history.Lane]string)
	if plan := w.run.Header.Plan; plan != nil {
		for _, l := range plan.Lanes {
			urls[l.Lane] = l.Target
		}
	}
	for r, err := range w.run.Requests() {
		if err != nil {
			return fmt.Errorf("export %s: %w", w.scope.scenario, err)
		}
		if !w.scope.wants(r.Lane) || !w.scope.underLoad(r) || r.Outcome == history.Unsent {
			continue
		}
		result := resultOf(r)
		result.Attack = string(r.Lane)
		if w.manyWorkers {
			result.Attack += " of " + r.Worker
		}
		result.Seq = w.numbers[key{r.Worker, r.Lane}].of(w.shares[r.Worker].Nth(r.Seq))
		result.Timestamp = w.run.Header.Base.Add(r.Due)
		result.URL = urls[r.Lane]
		if err := encode(&result); err != nil {
			return fmt.Errorf("export %s: %w", w.scope.scenario, err)
		}
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", w.scope.scenario, err)
	}
	return nil
}

// resultOf returns a request as vegeta's result, which is a success to vegeta if and only if it is one to holdfast; vegeta
// looks at the status alone. Of an error, only the kind is kept: vegeta report lists each different text, and texts contain
// port numbers.
func resultOf(r *history.Request) vegeta.Result {
	result := vegeta.Result{
		Latency: r.Done - r.Due, BytesIn: uint64(max(0, r.Bytes)), Method: http.MethodGet,
		Code: uint16(max(0, min(r.Status, math.MaxUint16))),
	}
	good := result.Code >= 200 && result.Code < 400
	switch {
	case !r.Outcome.Failed():
		if !good {
			result.Code = http.StatusOK
		}
		return result
	case r.Status != 0:
		result.Error = string(r.Outcome) + ": status " + strconv.Itoa(r.Status)
	default:
		result.Error = string(r.Outcome)
	}
	if good {
		result.Code = 0 // vegeta's code for a request without a complete response
	}
	return result
}
