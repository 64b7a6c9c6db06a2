package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
)

// readAll reads the measurements of a file, one JSON object a line.
func readAll[M any](path string) (all []M, err error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("read measurements: %w", err)
	}
	defer func() { err = errors.Join(err, file.Close()) }()
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		var m M
		if err := json.Unmarshal(lines.Bytes(), &m); err != nil {
			return nil, fmt.Errorf("read line %d of %s: %w", len(all)+1, path, err)
		}
		all = append(all, m)
	}
	if err := lines.Err(); err != nil {
		return nil, fmt.Errorf("read %s: %w", path, err)
	}
	return all, nil
}

// appendTo appends a measurement to a file of one JSON object a line, and prints it.
func appendTo(path string, measurement any, out io.Writer) error {
	line, err := json.Marshal(measurement)
	if err != nil {
		return err
	}
	file, err := os.OpenFile(path, os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o644)
	if err != nil {
		return fmt.Errorf("keep a measurement: %w", err)
	}
	_, err = file.Write(append(line, '\n'))
	_, said := fmt.Fprintln(out, string(line))
	return errors.Join(err, file.Close(), said)
}
