package main

import (
	"cmp"
	"errors"
	"flag"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// measuredFile has the measurements of 'scale size', one JSON object a line.
const measuredFile = "suites/scale/measured.jsonl"

// table prints the table of one scenario of a file of 'scale size', and writes a chart beside it: of the most measurements that differ in one
// size.
func table(args []string, out io.Writer) error {
	flags := flag.NewFlagSet("table", flag.ContinueOnError)
	scenario := flags.String("scenario", "", "only its measurements; by default the file has to have one scenario")
	timings := flags.String("timings", "", "only measurements with them, lab or stock; by default all have to have the same")
	if err := flags.Parse(args); err != nil {
		return err
	}
	if flags.NArg() > 1 {
		return errors.New("want one file of measurements at most")
	}
	path := cmp.Or(flags.Arg(0), measuredFile)
	all, err := readAll[scaling.Measurement](path)
	if err != nil {
		return err
	}
	if all, err = ofOne(all, *scenario, *timings); err != nil {
		return fmt.Errorf("table of %s: %w", path, err)
	}
	if groups := scaling.Groups(all); len(groups) > 0 {
		g := scaling.Largest(groups)
		err = draw(beside(path), g.Size+" with "+g.Fixed, g.Courses())
	}
	_, said := io.WriteString(out, scaling.ClusterTable(all))
	return errors.Join(err, said)
}

// ofOne are the measurements of one scenario with the same timings. An empty name stands for the only one that there is: measurements of several
// grow in different ways, and a slope over all of them would be that of none.
func ofOne(all []scaling.Measurement, scenario, timings string) (some []scaling.Measurement, err error) {
	var kinds []string
	for _, m := range all {
		if scenario != "" && m.Scenario != scenario || timings != "" && m.Timings != timings {
			continue
		}
		some = append(some, m)
		if kind := cmp.Or(m.Scenario, "no scenario") + " with " + cmp.Or(m.Timings, "no") + " timings"; !slices.Contains(kinds, kind) {
			kinds = append(kinds, kind)
		}
	}
	if len(kinds) > 1 {
		return nil, fmt.Errorf("it has measurements of %s: choose one with --scenario and --timings", prose.List(kinds))
	}
	if len(some) == 0 && len(all) > 0 {
		return nil, fmt.Errorf("it has no measurement with --scenario %q and --timings %q", scenario, timings)
	}
	return some, nil
}

// requestTable prints the table of a file of 'scale requests', and writes the chart beside it.
func requestTable(path string, out io.Writer) error {
	all, err := readAll[scaling.Requests](path)
	if err != nil {
		return err
	}
	err = draw(beside(path), "requests", scaling.RequestCourses(all))
	_, said := io.WriteString(out, scaling.RequestTable(all))
	return errors.Join(err, said)
}

// beside is the chart of a file of measurements: x.svg of x.jsonl.
func beside(path string) string { return strings.TrimSuffix(path, filepath.Ext(path)) + ".svg" }

// draw writes a chart.
func draw(path, size string, courses []scaling.Course) error {
	image, err := scaling.Chart(size, courses)
	if err != nil {
		return err
	}
	if err := os.WriteFile(path, image, 0o644); err != nil {
		return fmt.Errorf("draw a chart: %w", err)
	}
	return nil
}
