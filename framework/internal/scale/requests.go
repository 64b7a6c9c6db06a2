package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// requestsFile has the measurements of 'scale requests', one JSON object a line.
const requestsFile = "framework/scaling/requests.jsonl"

// requests measures what judging and reporting records of so many requests costs, appends each measurement to a file, and prints the table of
// the file. Without counts it prints only the table, and writes the chart. A count that fails, or whose record does not fit, does not take the others away.
func requests(ctx context.Context, args []string, out io.Writer) error {
	flags := flag.NewFlagSet("requests", flag.ContinueOnError)
	file := flags.String("file", requestsFile, "where measurements are appended; the chart is written beside it")
	if err := flags.Parse(args); err != nil {
		return err
	}
	counts, err := countsOf(flags.Args())
	if err != nil {
		return err
	}
	for _, n := range counts {
		m, failed := measureRequests(ctx, n)
		if failed == nil {
			failed = appendTo(*file, m, os.Stderr)
		}
		if failed != nil {
			err = errors.Join(err, fmt.Errorf("measure %d requests: %w", n, failed))
		}
	}
	return errors.Join(err, requestTable(*file, out))
}

// countsOf reads numbers of requests, and sorts them: the largest may not fit.
func countsOf(args []string) (counts []int, err error) {
	for _, a := range args {
		n, err := strconv.Atoi(a)
		if err != nil || n < leastRequests || n%2 != 0 {
			return nil, fmt.Errorf("%q requests: want an even number from %d on, half of them for each lane", a, leastRequests)
		}
		counts = append(counts, n)
	}
	slices.Sort(counts)
	return counts, nil
}

// leastRequests are as many as the record of historytest.Healthy plans: with fewer, nothing is held.
const leastRequests = 12_000

// measureRequests writes a record, judges and reports it, and removes it, also after an error.
func measureRequests(ctx context.Context, n int) (m scaling.Requests, err error) {
	dir, err := os.MkdirTemp("", "scale-*")
	if err != nil {
		return m, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	if err := roomFor(dir, n); err != nil {
		return m, err
	}
	self, err := os.Executable()
	if err != nil {
		return m, err
	}
	record := filepath.Join(dir, filepath.FromSlash(writtenScenario))
	if _, err := process(ctx, exec.CommandContext(ctx, self, "write", strconv.Itoa(n), record)); err != nil {
		return m, err
	}
	m = scaling.Requests{At: time.Now().UTC(), Requests: n}
	if m.RecordBytes, err = sizeOf(record); err != nil {
		return m, err
	}
	judged, err := child(ctx, "judge", dir)
	if m.Outcome, err = outcomeOf(err); err != nil {
		return m, err
	}
	reported, err := child(ctx, "report", dir)
	if _, err = outcomeOf(err); err != nil { // always Unknown: the run has no run.json with verdicts
		return m, err
	}
	m.JudgeCPU, m.JudgeBytes = judged.cpu.Seconds(), judged.memory
	m.ReportCPU, m.ReportBytes = reported.cpu.Seconds(), reported.memory
	page, err := os.Stat(filepath.Join(dir, "report.html"))
	if err != nil {
		return m, err
	}
	m.PageBytes = page.Size()
	return m, nil
}

// roomOfRequest is how much must be free for each request. Measured: up to 124 bytes; the rest stays free for others.
const roomOfRequest = 180

// roomFor is an error if the record of so many requests does not fit on the disk of a folder.
func roomFor(dir string, n int) error {
	var disk syscall.Statfs_t
	if err := syscall.Statfs(dir, &disk); err != nil {
		return fmt.Errorf("look how much is free in %s: %w", dir, err)
	}
	return fits(dir, n, disk.Bavail*uint64(disk.Bsize))
}

func fits(dir string, n int, free uint64) error {
	if want := uint64(n) * roomOfRequest; free < want {
		return fmt.Errorf("%s has %.1f GB free, and the record needs %.1f GB: make room, or choose another disk with TMPDIR",
			dir, float64(free)/1e9, float64(want)/1e9)
	}
	return nil
}
