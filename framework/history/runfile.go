package history

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"
)

// RunFileName is the name of the file that describes a whole run, in the run's folder.
const RunFileName = "run.json"

// RunFormat is the version of run.json. A reader takes its own version and older ones.
const RunFormat = 1

// RunFile is run.json: what was asked of a run and what was found. The records, in the scenarios' folders, say more,
// and are what verdicts are made of; this is the summary.
type RunFile struct {
	Format     int       `json:"format"`
	ID         string    `json:"id"`
	Started    time.Time `json:"started"`
	Ended      time.Time `json:"ended,omitzero"` // zero while it runs, and for ever if it was killed
	Holdfast   string    `json:"holdfast"`       // version of the harness
	Kubernetes string    `json:"kubernetes"`
	Profile    string    `json:"profile,omitempty"` // lab or stock; empty if each scenario had its own
	Seed       uint64    `json:"seed"`
	Args       []string  `json:"args,omitempty"`     // of the command line, as they were given
	Reproduce  string    `json:"reproduce"`          // the command that does the same again
	Incident   *Incident `json:"incident,omitempty"` // that the scenarios retell
	Outcome    string    `json:"outcome"`            // the worst of the scenarios', or OutcomeInterrupted; empty while it runs
	// Interrupted says by what the run was interrupted, such as SIGINT. Empty: every scenario was run to its end.
	Interrupted string           `json:"interrupted,omitempty"`
	Scenarios   []ScenarioResult `json:"scenarios"`
}

// ScenarioResult is what was found of one scenario.
type ScenarioResult struct {
	Name    string        `json:"name"`            // suite/name
	Dir     string        `json:"dir"`             // of its record, below the run's folder, with slashes
	Claim   string        `json:"claim,omitempty"` // the sentence that can be false
	Took    time.Duration `json:"took"`            // nanoseconds
	Outcome string        `json:"outcome"`         // an invariant.Outcome; empty if it was not judged
	Error   string        `json:"error,omitempty"` // why the harness could not run or judge it
	// NotSupported says why what it takes is not to be had where it was run, such as a feature of the kernel. Nothing was
	// tried then, and it counts neither as success nor as failure: there is no Outcome and no Error.
	NotSupported string `json:"notSupported,omitempty"`
	// Interrupted says where the scenario was interrupted. It has an Outcome then only if a promise was broken before.
	Interrupted string `json:"interrupted,omitempty"`
	// NotBegun says why the scenario, which was chosen, was not begun: the run was interrupted. There is no Outcome and no Error.
	NotBegun  string  `json:"notBegun,omitempty"`
	Reproduce string  `json:"reproduce,omitempty"`
	Mutant    *Mutant `json:"mutant,omitempty"`
	// Verdicts are each an invariant.Verdict, which this package cannot name.
	Verdicts []json.RawMessage `json:"verdicts,omitempty"`
	// Caught is the verdict on a mutant, of the same type. None in older files.
	Caught json.RawMessage `json:"caught,omitempty"`
}

// sealedRunFile is RunFile as it is written. Checksum is the CRC-32C of all that stands before its own digits.
type sealedRunFile struct {
	RunFile
	Checksum string `json:"checksum"`
}

// runTail is how run.json ends, after the digits of its checksum.
const runTail = "\"\n}\n"

// maxRunFileBytes bounds what is read: a run of a thousand scenarios with all their evidence stays below.
const maxRunFileBytes = 64 << 20

// Write puts run.json into a run's folder, which is made if need be. A reader sees the old file or the new, never half
// of one. Format is set.
func (f RunFile) Write(dir string) error {
	f.Format = RunFormat
	data, err := json.MarshalIndent(sealedRunFile{RunFile: f}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", RunFileName, err)
	}
	data = data[:len(data)+1-len(runTail)] // up to where the digits belong
	data = fmt.Appendf(data, "%08x%s", crc32.Checksum(data, castagnoli), runTail)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", RunFileName, err)
	}
	return replaceFile(filepath.Join(dir, RunFileName), data)
}

// replaceFile writes a file beside the old one and puts it in its place.
func replaceFile(name string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = file.Write(data)
	// Without Sync a machine that loses power may keep the new name and not what is in it.
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(file.Name()))
	}
	return nil
}

// ReadRunFile reads run.json from a run's folder. A folder without one, a file of a newer format and a damaged file are
// errors.
func ReadRunFile(dir string) (RunFile, error) {
	name := filepath.Join(dir, RunFileName)
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return RunFile{}, fmt.Errorf("read run: no %s in %s: give a run's folder, such as artifacts/latest", RunFileName, dir)
	}
	if err != nil {
		return RunFile{}, fmt.Errorf("read run: %w", err)
	}
	defer func() { _ = file.Close() }() // it was only read
	data, err := io.ReadAll(io.LimitReader(file, maxRunFileBytes))
	if err != nil {
		return RunFile{}, fmt.Errorf("read run: %w", err)
	}
	f, err := decodeRunFile(data)
	if err != nil {
		return RunFile{}, fmt.Errorf("read run: %s %w", name, err)
	}
	return f, nil
}

func decodeRunFile(data []byte) (RunFile, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return RunFile{}, fmt.Errorf("is damaged: %w", err)
	}
	if version.Format > RunFormat {
		return RunFile{}, fmt.Errorf("is of format %d, and this holdfast reads formats up to %d: use a newer one",
			version.Format, RunFormat)
	}
	const digits = 8
	sealed := len(data) - len(runTail) - digits
	if version.Format < 1 || sealed < 0 || !bytes.HasSuffix(data, []byte(runTail)) {
		return RunFile{}, errors.New("is no description of a run")
	}
	sum := fmt.Sprintf("%08x", crc32.Checksum(data[:sealed], castagnoli))
	if written := string(data[sealed : sealed+digits]); written != sum {
		return RunFile{}, fmt.Errorf("has checksum %.8q and should have %s: it was changed", written, sum)
	}
	var f sealedRunFile
	if err := json.Unmarshal(data, &f); err != nil {
		return RunFile{}, fmt.Errorf("is damaged: %w", err)
	}
	return f.RunFile, nil
}
