package export

import (
	"bufio"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// FormatCSV is the format of CSV: one table of the requests of any number of records.
const FormatCSV = "csv"

// Formats lists the names of the formats, sorted.
func Formats() []string {
	names := []string{FormatCSV}
	for name := range encodings {
		names = append(names, name)
	}
	slices.Sort(names)
	return names
}

// CSV writes the requests of some lanes of records as one table (lanes none: all except the control lane): a header row, and
// one row per request, unsent requests included. Its columns are run, scenario, proxy_mode (kube-proxy's), under_load (1 if
// verdicts count the row, provided that it was sent) and those of the record's request files, which history.Encoder documents.
func CSV(to io.Writer, runs []history.Run, lanes []history.Lane) ([]Counts, error) {
	w := bufio.NewWriterSize(to, 1<<16)
	encoder := history.NewEncoder()
	line := append([]byte("run,scenario,proxy_mode,under_load,"), encoder.AppendHeader(nil)...)
	if _, err := w.Write(line); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	var counts counted
	for _, run := range runs {
		s := scopeOf(run, lanes)
		names := quoted(run.Header.RunID) + "," + quoted(run.Header.Scenario) + "," + quoted(run.Header.Cluster.ProxyMode)
		for r, err := range run.Requests() {
			if err != nil {
				return nil, fmt.Errorf("export %s: %w", s.scenario, err)
			}
			if !s.wants(r.Lane) {
				continue
			}
			counts.add(s, r)
			line = append(line[:0], names...)
			if s.underLoad(r) {
				line = append(line, ",1,"...)
			} else {
				line = append(line, ",0,"...)
			}
			line = encoder.Append(line, r)
			if _, err := w.Write(line); err != nil {
				return nil, fmt.Errorf("export %s: %w", s.scenario, err)
			}
		}
	}
	if err := w.Flush(); err != nil {
		return nil, fmt.Errorf("export: %w", err)
	}
	return counts.sorted(), nil
}

// quoted returns a text as a CSV field without line breaks.
func quoted(text string) string {
	text = strings.Join(strings.Fields(text), " ")
	if !strings.ContainsAny(text, `,"`) {
		return text
	}
	return `"` + strings.ReplaceAll(text, `"`, `""`) + `"`
}
