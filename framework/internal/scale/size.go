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
	"github.com/holdfast-ha/holdfast/framework/provider"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// size runs a scenario at a size, measures the processes of the harness, and appends the measurement to a file.
func size(ctx context.Context, args []string, out io.Writer) (err error) {
	flags := flag.NewFlagSet("size", flag.ContinueOnError)
	scenario := flags.String("scenario", "scale/rollout", "what to run")
	timings := flags.String("timings", "lab", "lab or stock")
	file := flags.String("file", measuredFile, "where measurements are appended")
	cluster := flags.String("cluster", "", "a cluster that is there already, and stays")
	dir := flags.String("artifacts", "", "an existing folder for the run, which stays; by default the run is removed")
	if err := flags.Parse(args); err != nil {
		return err
	}
	m := scaling.Measurement{Scenario: *scenario, Timings: *timings}
	if flags.NArg() != 2 {
		return errors.New("want the numbers of nodes and pods")
	}
	if m.Nodes, err = number("nodes", flags.Arg(0)); err != nil {
		return err
	}
	if m.Pods, err = number("pods", flags.Arg(1)); err != nil {
		return err
	}
	name, nodes, pods := *cluster, strconv.Itoa(m.Nodes), strconv.Itoa(m.Pods)
	if name == "" {
		name = "scale-" + nodes
		if _, err := child(ctx, "up", name, "--for", *scenario, "--simulated-nodes", nodes, "--timings", *timings); err != nil {
			return err
		}
		defer func() {
			_, gone := child(context.WithoutCancel(ctx), "down", name)
			err = errors.Join(err, gone)
		}()
	}
	if *dir == "" {
		if *dir, err = os.MkdirTemp("", "scale-*"); err != nil {
			return err
		}
		defer func() { err = errors.Join(err, os.RemoveAll(*dir)) }()
	}
	node, err := controlPlane(ctx, name)
	if err != nil {
		return err
	}
	before, err := scaling.AskScheduler(ctx, node)
	if err != nil {
		return err
	}
	ran, err := child(ctx, "run", *scenario, "--cluster", name, "--simulated-nodes", nodes, "--simulated-pods", pods,
		"--timings", *timings, "--artifacts", *dir)
	if m.Outcome, err = outcomeOf(err); err != nil {
		return err
	}
	m.RunSeconds, m.RunCPU, m.RunBytes = ran.wall.Seconds(), ran.cpu.Seconds(), ran.memory
	after, err := scaling.AskScheduler(ctx, node)
	if err != nil {
		return err
	}
	bound, err := scaling.Since(before, after, m.Pods)
	if err != nil {
		return err
	}
	m.Bound, m.AttemptSeconds, m.BindSeconds = int(bound.SLI.Count), bound.Attempt.Mean(), bound.SLI.Mean()
	if m.Resident, err = residentOf(ctx, node); err != nil {
		return err
	}
	if err := ofRecord(ctx, &m, filepath.Join(*dir, "last-attempt", filepath.FromSlash(*scenario))); err != nil {
		return err
	}
	m.At = time.Now().UTC()
	return appendTo(*file, m, out)
}

// number reads how many of something there are to be.
func number(of, text string) (int, error) {
	n, err := strconv.Atoi(text)
	if err != nil || n < 1 {
		return 0, fmt.Errorf("%q %s: want a whole number from 1 on", text, of)
	}
	return n, nil
}

// controlPlane is the node with the control plane of a cluster.
func controlPlane(ctx context.Context, name string) (clusters.Node, error) {
	p, err := provider.Kind(ctx, os.Stderr, func(string) {})
	if err != nil {
		return nil, err
	}
	c, err := p.Open(ctx, name)
	if err != nil {
		return nil, err
	}
	return c.Nodes()[0], nil
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

// ofRecord measures a record, and what it takes to judge it again.
func ofRecord(ctx context.Context, m *scaling.Measurement, record string) (err error) {
	if m.RecordBytes, err = sizeOf(record); err != nil {
		return err
	}
	judged, err := child(ctx, "judge", record)
	m.JudgeSeconds, m.JudgeCPU, m.JudgeBytes = judged.wall.Seconds(), judged.cpu.Seconds(), judged.memory
	again, err := outcomeOf(err)
	if err != nil {
		return err
	}
	if again != m.Outcome {
		return fmt.Errorf("the run was %s, and its record is judged %s", m.Outcome, again)
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
