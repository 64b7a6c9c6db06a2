package main

import (
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// harness is the program that is measured.
const harness = "bin/holdfast"

// size runs a scenario at a size, measures the processes of the harness, and appends the measurement to a file.
func size(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	scenario := flags.String("scenario", "scale/rollout", "what to run")
	timings := flags.String("timings", "lab", "lab or stock: with more than 500 nodes lab's leases are more than two cores can write")
	file := flags.String("file", measuredFile, "where measurements are appended")
	cluster := flags.String("cluster", "", "a cluster that is there already, and stays")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := scaling.Measurement{Scenario: *scenario, Timings: *timings}
	if flags.NArg() != 2 {
		return errors.New("want the numbers of nodes and pods")
	}
	if m.Nodes, err = strconv.Atoi(flags.Arg(0)); err != nil {
		return err
	}
	if m.Pods, err = strconv.Atoi(flags.Arg(1)); err != nil {
		return err
	}
	name := *cluster
	if name == "" {
		name = "scale-" + flags.Arg(0)
		if _, err := child(ctx, "up", name, "--zones", "a", "--workers-per-zone", "2", "--simulated-nodes", flags.Arg(0), "--timings", *timings); err != nil {
			return err
		}
		defer func() {
			_, gone := child(context.WithoutCancel(ctx), "down", name)
			err = errors.Join(err, gone)
		}()
	}
	dir, err := os.MkdirTemp("", "scale-*")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	ran, runErr := child(ctx, "run", *scenario, "--cluster", name, "--simulated-nodes", flags.Arg(0), "--simulated-pods", flags.Arg(1),
		"--timings", *timings, "--artifacts", dir)
	m.RunSeconds, m.RunCPU, m.RunBytes = ran.wall.Seconds(), ran.cpu.Seconds(), ran.memory
	if runErr != nil {
		m.Trouble = runErr.Error()
	}
	if err := ofCluster(ctx, &m, name); err != nil {
		m.Trouble = strings.TrimSpace(m.Trouble + " " + err.Error())
	}
	if err := ofRecord(ctx, &m, filepath.Join(dir, "last-attempt")); err != nil {
		m.Trouble = strings.TrimSpace(m.Trouble + " " + err.Error())
	}
	return appendTo(*file, m, out)
}

// used is what a process took.
type used struct {
	wall, cpu time.Duration
	memory    int64 // the most that was resident, in bytes
}

// child runs the harness and waits for it. It tells what is told on standard error.
func child(ctx context.Context, args ...string) (u used, err error) {
	cmd := exec.CommandContext(ctx, harness, args...)
	cmd.Stdout, cmd.Stderr = os.Stderr, os.Stderr
	began := time.Now()
	err = cmd.Run()
	u.wall = time.Since(began)
	if s := cmd.ProcessState; s != nil {
		u.cpu = s.UserTime() + s.SystemTime()
		if r, is := s.SysUsage().(*syscall.Rusage); is {
			u.memory = r.Maxrss * maxrssUnit
		}
	}
	if err != nil {
		err = fmt.Errorf("%s %s: %w", harness, args[0], err)
	}
	return u, err
}

// maxrssUnit is what Linux counts Maxrss in.
const maxrssUnit = 1 << 10

// ofCluster measures the control plane.
func ofCluster(ctx context.Context, m *scaling.Measurement, name string) error {
	p, err := provider.Kind(ctx, os.Stderr, func(string) {})
	if err != nil {
		return err
	}
	c, err := p.Open(ctx, name)
	if err != nil {
		return err
	}
	s, err := scaling.AskScheduler(ctx, c.Nodes()[0])
	if err != nil {
		return err
	}
	m.Bound, m.AttemptSeconds, m.BindSeconds = int(s.SLI.Count), s.Attempt.Mean(), s.SLI.Mean()
	m.Resident, err = residentOf(ctx, c.Nodes()[0])
	return err
}

// residentOf is how much of each program of the control plane is resident, in bytes.
func residentOf(ctx context.Context, on clusters.Node) (map[string]int64, error) {
	text, err := on.Exec(ctx, "ps", "-o", "comm=,rss=", "-C", "kube-apiserver,etcd,kube-scheduler,kube-controller,kwok")
	if err != nil {
		return nil, fmt.Errorf("look at the programs of the control plane: %w", err)
	}
	all := map[string]int64{}
	for line := range strings.Lines(string(text)) {
		var name string
		var kib int64
		if n, _ := fmt.Sscan(line, &name, &kib); n == 2 {
			all[name] += kib << 10
		}
	}
	return all, nil
}

// ofRecord measures the record, and what it takes to judge it again.
func ofRecord(ctx context.Context, m *scaling.Measurement, run string) error {
	file, err := runfolder.ReadFile(run)
	if err != nil {
		return err
	}
	for _, s := range file.Scenarios {
		m.Outcome = s.Outcome
	}
	record := filepath.Join(run, filepath.FromSlash(m.Scenario))
	recorded, err := history.Open(record)
	if err != nil {
		return err
	}
	m.Events = len(recorded.Events)
	for _, e := range recorded.Events {
		if e.Gap != nil {
			m.Gaps++
		}
	}
	err = filepath.WalkDir(record, func(_ string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		info, err := d.Info()
		if err == nil {
			m.RecordBytes += info.Size()
		}
		return err
	})
	if err != nil {
		return err
	}
	judged, err := child(ctx, "judge", record)
	m.JudgeSeconds, m.JudgeCPU, m.JudgeBytes = judged.wall.Seconds(), judged.cpu.Seconds(), judged.memory
	if exit := (*exec.ExitError)(nil); errors.As(err, &exit) { // its exit code is a verdict
		return nil
	}
	return err
}

// appendTo appends a measurement to a file of one JSON object a line, and prints it.
func appendTo(path string, m scaling.Measurement, out io.Writer) error {
	m.At = time.Now().UTC()
	line, err := json.Marshal(m)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return err
	}
	_, err = file.Write(append(line, '\n'))
	_, said := fmt.Fprintln(out, string(line))
	return errors.Join(err, file.Close(), said)
}
