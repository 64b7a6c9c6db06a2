package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/holdfast-ha/holdfast/framework/scaling"
)

// measuredFile has the measurements, one JSON object a line.
const measuredFile = "suites/scale/measured.jsonl"

// table prints the table of a file, and writes the chart beside it.
func table(args []string, out io.Writer) (err error) {
	path := measuredFile
	if len(args) > 0 {
		path = args[0]
	}
	file, err := os.Open(path)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	var all []scaling.Measurement
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var m scaling.Measurement
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return fmt.Errorf("read %s: %w", path, err)
		}
		all = append(all, m)
	}
	if err := lines.Err(); err != nil {
		return fmt.Errorf("read %s: %w", path, err)
	}
	_, err = io.WriteString(out, scaling.Table(all))
	return err
}
