package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"github.com/holdfast-ha/holdfast/clusters/kwok"
	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads"
)

// grow copies the record of a scenario with simulated nodes, and multiplies the simulated nodes and the filling pods. Judging it costs what
// judging a record of such a cluster costs, on a machine that is too small for the cluster. Events that are added come between the original and
// the next one, so that each is a moment of its own.
func grow(args []string) error {
	if len(args) != 4 {
		return errors.New("want the folder of a scenario's record, by how much its nodes and its pods are to grow, and a new folder")
	}
	nodes, errNodes := strconv.Atoi(args[1])
	pods, errPods := strconv.Atoi(args[2])
	if err := errors.Join(errNodes, errPods); err != nil {
		return err
	}
	if nodes < 1 || pods < 1 {
		return fmt.Errorf("grow %d times and %d times: want at least 1", nodes, pods)
	}
	if err := os.CopyFS(filepath.Join(args[3], history.RequestsFolder), os.DirFS(filepath.Join(args[0], history.RequestsFolder))); err != nil {
		return err
	}
	run, err := history.Open(args[0])
	if err != nil {
		return err
	}
	g := grower{nodes: nodes, pods: pods, perCopy: nodesOf(run.Events)}
	text, err := os.ReadFile(filepath.Join(args[0], history.EventsFile))
	if err != nil {
		return err
	}
	file, err := os.Create(filepath.Join(args[3], history.EventsFile))
	if err != nil {
		return err
	}
	g.out = bufio.NewWriterSize(io.MultiWriter(file, &g), 1<<20)
	return errors.Join(g.run(bytes.SplitAfter(text, []byte("\n"))), file.Close())
}

// nodesOf is the number of simulated nodes of a record.
func nodesOf(events []history.Event) int {
	names := map[string]bool{}
	for _, e := range events {
		if e.Node != nil && kwok.IsNode(e.Node.Name) {
			names[e.Node.Name] = true
		}
	}
	return len(names)
}

type grower struct {
	nodes, pods, perCopy int

	out      *bufio.Writer
	lines    int
	checksum uint32
}

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// Write implements io.Writer: it follows what is written, for the end line.
func (g *grower) Write(text []byte) (int, error) {
	g.checksum = crc32.Update(g.checksum, castagnoli, text)
	return len(text), nil
}

// run writes all lines, with copies of those that are about simulated nodes and filling pods.
func (g *grower) run(lines [][]byte) error {
	for i, line := range lines {
		var e history.Event
		if len(line) == 0 {
			continue
		}
		if err := json.Unmarshal(line, &e); err != nil {
			return fmt.Errorf("read line %d: %w", i+1, err)
		}
		if e.End != nil {
			return g.end(e.T)
		}
		next := e.T
		if i+1 < len(lines) {
			var after history.Event
			if json.Unmarshal(lines[i+1], &after) == nil {
				next = after.T
			}
		}
		if e.Header != nil {
			e.Header.Cluster.SimulatedNodes *= g.nodes
			header, err := json.Marshal(e)
			if err != nil {
				return err
			}
			line = slices.Concat(header, []byte("\n"))
		}
		if err := g.write(line); err != nil {
			return err
		}
		times := g.times(e)
		for k := 1; k < times; k++ {
			copied, err := json.Marshal(g.copied(e, k, e.T+(next-e.T)*history.Offset(k)/history.Offset(times)))
			if err != nil {
				return err
			}
			if err := g.write(append(copied, '\n')); err != nil {
				return err
			}
		}
	}
	return errors.New("the record has no end")
}

func (g *grower) write(line []byte) error {
	g.lines++
	_, err := g.out.Write(line)
	return err
}

// end writes the end line, whose checksum covers all before its digits.
func (g *grower) end(at history.Offset) error {
	if _, err := fmt.Fprintf(g.out, `{"t":%d,"end":{"lines":%d,"checksum":"`, at, g.lines); err != nil {
		return err
	}
	if err := g.out.Flush(); err != nil {
		return err
	}
	_, err := fmt.Fprintf(g.out, "%08x\"}}\n", g.checksum)
	return errors.Join(err, g.out.Flush())
}

// times is how many there are to be of an event.
func (g *grower) times(e history.Event) int {
	switch {
	case e.Node != nil && kwok.IsNode(e.Node.Name):
		return g.nodes
	case e.Pod != nil && workloads.IsFill(e.Pod.Name), e.Workload != nil && workloads.IsFill(e.Workload.Name):
		return g.pods
	}
	return 1
}

// copied is the k-th copy of an event, about objects of its own.
func (g *grower) copied(e history.Event, k int, at history.Offset) history.Event {
	e.T = at
	renamed := func(text string) string {
		return strings.Replace(text, "fill-", fmt.Sprintf("fill-%d-", k), 1)
	}
	labels := func(all map[string]string, change func(string) string) map[string]string {
		out := make(map[string]string, len(all))
		for name, value := range all {
			out[name] = change(value)
		}
		return out
	}
	node := func(name string) string { return kwok.Later(name, k%g.nodes*g.perCopy) }
	switch {
	case e.Node != nil:
		n := *e.Node
		n.Name, n.Labels = node(n.Name), labels(n.Labels, node)
		e.Node = &n
	case e.Pod != nil:
		p := *e.Pod
		p.Name, p.Labels, p.Node, p.UID = renamed(p.Name), labels(p.Labels, renamed), node(p.Node), fmt.Sprintf("%s-%d", p.UID, k)
		e.Pod = &p
	case e.Workload != nil:
		w := *e.Workload
		w.Name, w.Selector = renamed(w.Name), labels(w.Selector, renamed)
		e.Workload = &w
	}
	return e
}
