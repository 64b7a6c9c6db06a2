package reports

import (
	"encoding/json"
	"fmt"
	"io"
	"os"
)

// maxReadBytes bounds what is read of a report.json. That of three hundred scenarios is much smaller.
const maxReadBytes = 64 << 20

// Read reads a report.json. A document of another kind or version is an error; unknown fields are skipped. What only draws the page is
// absent, see Report.
func Read(name string) (Report, error) {
	file, err := os.Open(name)
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxReadBytes))
	if err != nil {
		return Report{}, fmt.Errorf("read report: %w", err)
	}
	var of struct{ SchemaVersion string }
	if err := json.Unmarshal(data, &of); err != nil {
		return Report{}, fmt.Errorf("read report: %s is damaged: %w", name, err)
	}
	if of.SchemaVersion != SchemaVersion {
		return Report{}, fmt.Errorf("read report: %s has version %q, but this holdfast reads only %s", name, of.SchemaVersion, SchemaVersion)
	}
	var r Report
	if err := json.Unmarshal(data, &r); err != nil {
		return Report{}, fmt.Errorf("read report: %s is damaged: %w", name, err)
	}
	return r, nil
}
