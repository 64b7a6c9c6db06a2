package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

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
	m.At = time.Now().UTC()
	return appendTo(*file, m, out)
}

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
	if m.RecordBytes, err = sizeOf(record); err != nil {
		return err
	}
	judged, err := child(ctx, "judge", record)
	m.JudgeSeconds, m.JudgeCPU, m.JudgeBytes = judged.wall.Seconds(), judged.cpu.Seconds(), judged.memory
	if _, err := outcomeOf(err); err != nil {
		return err
	}
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
	return nil
}
