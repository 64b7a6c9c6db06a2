package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// measuredFile has the measurements of 'scale size', one JSON object a line.
const measuredFile = "suites/scale/measured.jsonl"

// table prints the table of a file of 'scale size', and writes the chart beside it.
func table(args []string, out io.Writer) error {
	path := measuredFile
	switch len(args) {
	case 0:
	case 1:
		path = args[0]
	default:
		return errors.New("want one file of measurements at most")
	}
	all, err := readAll[scaling.Measurement](path)
	if err != nil {
		return err
	}
	err = draw(beside(path), "pods", scaling.PodCourses(all))
	_, said := io.WriteString(out, scaling.PodTable(all))
	return errors.Join(err, said)
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
