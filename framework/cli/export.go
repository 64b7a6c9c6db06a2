package cli

import (
	"bufio"
	"cmp"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"github.com/spf13/cobra"
	vegeta "github.com/tsenart/vegeta/v12/lib"

	"github.com/holdfast-ha/holdfast/framework/base/output"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
)

func exportCommand() *cobra.Command {
	var toVegeta bool
	var file string
	var lanes []string
	cmd := &cobra.Command{
		Use:   "export --vegeta RUN",
		Short: "Write the requests of a stored scenario for vegeta report and vegeta plot",
		Long: `export reads the folder of a scenario, or of a run with one scenario, and writes its requests to standard output or to a file, in the format of
'vegeta attack'. It writes the number of requests of each lane to standard error. These numbers agree exactly with the verdicts. The control
lane is exported only if --lane names it.

Each lane is an attack. A request that succeeded only because Go's HTTP client silently sent it again is a failure with the error "masked".
Latencies are measured from when a request was due. Requests that were never sent, or not due under load, are omitted.

'vegeta encode' makes JSON or CSV of it. Everything else reads the files of the record, requests/*.csv, where times are in nanoseconds:

  duckdb -c "SELECT lane, outcome, count(*), max(done_ns - due_ns) / 1e6 AS max_ms
    FROM 'artifacts/latest/chaos/rolling-update/requests/*.csv' GROUP BY ALL"`,
		Example: `  holdfast export --vegeta artifacts/latest/chaos/rolling-update -o all.gob # vegeta report all.gob
  holdfast export --vegeta artifacts/latest/chaos/rolling-update --lane fresh -o a.gob # vegeta plot`,
		Args: oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if !toVegeta {
				return exit.Usage(errors.New("export writes for vegeta alone: leave out --vegeta=false, and read requests/*.csv of the record with another tool"))
			}
			run, err := runWithLoad(args[0])
			if err != nil {
				return err
			}
			return writeExport(cmd, args[0], file, newVegetaExport(run, lanes))
		},
	}
	cmd.Flags().BoolVar(&toVegeta, "vegeta", true, "for vegeta, the only tool that export writes for")
	cmd.Flags().StringVarP(&file, "output", "o", "", "write to this file instead of standard output")
	cmd.Flags().StringSliceVar(&lanes, "lane", nil, "only these lanes, such as fresh; default: all except the control lane")
	return cmd
}

// runWithLoad opens the only record with load below a folder: vegeta's tools know no scenarios. A record that cannot be read is an error,
// because it may be the one that was meant.
func runWithLoad(dir string) (history.Run, error) {
	records, err := runfolder.Records(dir)
	if err != nil {
		return history.Run{}, err
	}
	if len(records) == 0 {
		return history.Run{}, fmt.Errorf("export %s: there is no record in it; give a run's folder, such as artifacts/latest", dir)
	}
	var loaded []history.Run
	for _, record := range records {
		run, err := history.Open(filepath.Join(dir, filepath.FromSlash(record)))
		if err != nil {
			return run, err
		}
		if run.Header.Plan != nil {
			loaded = append(loaded, run)
		}
	}
	switch len(loaded) {
	case 0:
		return history.Run{}, fmt.Errorf("export %s: it has no requests: no load was planned", dir)
	case 1:
		return loaded[0], nil
	}
	return history.Run{}, exit.Usage(fmt.Errorf("%s has %d scenarios with load: name one, such as %s", dir, len(loaded),
		filepath.Join(dir, filepath.FromSlash(loaded[0].Header.Scenario))))
}

// writeExport writes to a file, or without a name to standard output, and the counts to standard error. It removes a file that it could not
// write completely.
func writeExport(cmd *cobra.Command, dir, name string, e *vegetaExport) (err error) {
	say := sayTo(cmd.ErrOrStderr())
	if e.run.Incomplete != "" {
		say("%s: the record is incomplete: %s", e.run.Header.Scenario, e.run.Incomplete)
	}
	out := output.Raw(cmd.OutOrStdout())
	if name != "" {
		file, err := os.Create(name)
		if err != nil {
			return fmt.Errorf("export: %w", err)
		}
		if err := errors.Join(e.write(file), file.Close()); err != nil {
			return errors.Join(err, os.Remove(name))
		}
	} else if err := e.write(out); err != nil {
		return err
	}
	for _, c := range e.counts {
		say("%s %s: %d requests, %d ok, %d failed (%d masked); besides %d unsent, %d not due under load",
			e.run.Header.Scenario, c.lane, c.requests, c.requests-c.failed, c.failed, c.masked, c.unsent, c.outside)
	}
	if len(e.counts) == 0 {
		return fmt.Errorf("export %s: it has no requests of its lanes, or of those that --lane names: %q", dir, e.lanes)
	}
	return nil
}

// vegetaExport writes the requests of some lanes of a record as vegeta's results. It leaves out unsent requests, and those that were not due
// under load: vegeta knows neither.
//
// Each lane is an attack; with several workers, each lane of each worker. Results are numbered from zero without gaps, in the order in which
// they were due, because vegeta plot draws nothing after a gap. A result's time is when the request was due, and not when it was sent, so a
// client that lags does not hide waiting time.
type vegetaExport struct {
	run      history.Run
	lanes    []string       // none: all except the control lane
	from, to history.Offset // under load
	shares   map[string]history.Share
	counts   []laneExport
	numbers  map[attack][]uint64 // of the exported requests, sorted
	workers  map[string]bool
}

// laneExport counts the requests of a lane. Masked ones are among the failed ones.
type laneExport struct {
	lane                                      history.Lane
	requests, failed, masked, unsent, outside uint64
}

// attack is a sequence of requests.
type attack struct {
	worker string
	lane   history.Lane
}

func newVegetaExport(run history.Run, lanes []string) *vegetaExport {
	e := &vegetaExport{run: run, lanes: lanes, shares: run.Shares(), numbers: make(map[attack][]uint64), workers: make(map[string]bool)}
	e.from, e.to = run.UnderLoad()
	return e
}

// write reads the requests twice, and writes nothing of a record whose requests cannot be read.
func (e *vegetaExport) write(to io.Writer) error {
	err := e.each(func(r *history.Request) error {
		if e.count(r) {
			of := attack{r.Worker, r.Lane}
			e.numbers[of] = append(e.numbers[of], e.shares[r.Worker].Nth(r.Seq))
			e.workers[r.Worker] = true
		}
		return nil
	})
	if err != nil {
		return err
	}
	slices.SortFunc(e.counts, func(a, b laneExport) int { return cmp.Compare(a.lane, b.lane) })
	for of, numbers := range e.numbers {
		slices.Sort(numbers)
		e.numbers[of] = slices.Compact(numbers)
	}
	urls := make(map[history.Lane]string)
	if plan := e.run.Header.Plan; plan != nil {
		for _, l := range plan.Lanes {
			urls[l.Lane] = l.Target
		}
	}
	buffered := bufio.NewWriterSize(to, 1<<16)
	encode := vegeta.NewEncoder(buffered)
	err = e.each(func(r *history.Request) error {
		if !e.underLoad(r) || r.Outcome == history.Unsent {
			return nil
		}
		result := vegetaResult(r)
		if result.Attack = string(r.Lane); len(e.workers) > 1 {
			result.Attack += " of " + r.Worker
		}
		n, _ := slices.BinarySearch(e.numbers[attack{r.Worker, r.Lane}], e.shares[r.Worker].Nth(r.Seq))
		result.Seq, result.Timestamp, result.URL = uint64(n), e.run.Header.Base.Add(r.Due), urls[r.Lane]
		return encode(&result)
	})
	if err != nil {
		return err
	}
	if err := buffered.Flush(); err != nil {
		return fmt.Errorf("export %s: %w", e.run.Header.Scenario, err)
	}
	return nil
}

// each calls do for each request of the lanes.
func (e *vegetaExport) each(do func(*history.Request) error) error {
	for r, err := range e.run.Requests() {
		if err == nil && (len(e.lanes) == 0 && r.Lane != history.LaneControl || slices.Contains(e.lanes, string(r.Lane))) {
			err = do(r)
		}
		if err != nil {
			return fmt.Errorf("export %s: %w", e.run.Header.Scenario, err)
		}
	}
	return nil
}

func (e *vegetaExport) underLoad(r *history.Request) bool { return r.Due >= e.from && r.Due < e.to }

// count counts a request, and reports whether it was sent under load.
func (e *vegetaExport) count(r *history.Request) bool {
	i := slices.IndexFunc(e.counts, func(c laneExport) bool { return c.lane == r.Lane })
	if i < 0 {
		i = len(e.counts)
		e.counts = append(e.counts, laneExport{lane: r.Lane})
	}
	c := &e.counts[i]
	switch {
	case !e.underLoad(r):
		c.outside++
		return false
	case r.Outcome == history.Unsent:
		c.unsent++
		return false
	case r.Outcome == history.Masked:
		c.masked++
	}
	if r.Outcome.Failed() {
		c.failed++
	}
	c.requests++
	return true
}

// vegetaResult returns a request as vegeta's result, which is a success to vegeta if and only if it is one to holdfast; vegeta looks at the
// status alone. Of an error, only the kind is kept: vegeta report lists each different text, and texts contain port numbers.
func vegetaResult(r *history.Request) vegeta.Result {
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
