package runfolder

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// FileName is the name of the file that describes a whole run, in the run's folder.
const FileName = "run.json"

// Format is the version of run.json. A reader accepts its own version and older ones.
const Format = 1

// File is run.json, the summary of a run: what was requested and what was found. Verdicts are based on the records in
// the scenarios' folders, which are more detailed.
type File struct {
	Format     int               `json:"format"`
	ID         string            `json:"id"`
	Started    time.Time         `json:"started"`
	Ended      time.Time         `json:"ended,omitzero"` // zero while the run is in progress, and forever if it was killed
	Holdfast   string            `json:"holdfast"`       // version of the harness
	Kubernetes string            `json:"kubernetes"`
	Machine    *Machine          `json:"machine,omitempty"` // that its nodes ran on; nil in older files
	Profile    string            `json:"profile,omitempty"` // lab or stock; empty if each scenario had its own
	Seed       uint64            `json:"seed"`
	Args       []string          `json:"args,omitempty"`     // command-line arguments, as given
	Reproduce  string            `json:"reproduce"`          // the command that repeats the run
	Incident   *history.Incident `json:"incident,omitempty"` // the incident that the scenarios reproduce
	Outcome    string            `json:"outcome"`            // what the run is worth, such as OutcomeInterrupted: see judge.Worth; empty while in progress
	// Interrupted is what interrupted the run, such as SIGINT; empty if every scenario was run to its end.
	Interrupted string `json:"interrupted,omitempty"`
	// Fits are what the machines of its clusters carried, and what was chosen for them. Empty in older files, and where nothing was measured.
	Fits []Fit `json:"fits,omitempty"`
	// Chosen are the scenarios of the run, in the order in which they are run. Empty in older files.
	Chosen []Chosen `json:"chosen,omitempty"`
	// Resumed are the times at which the interrupted run was continued.
	Resumed   []Resumption     `json:"resumed,omitempty"`
	Scenarios []ScenarioResult `json:"scenarios"`
}

// ScenarioResult is the result of one scenario.
type ScenarioResult struct {
	Name    string        `json:"name"`            // suite/name
	Dir     string        `json:"dir"`             // folder of the record, relative to the run's folder, with slashes
	Claim   string        `json:"claim,omitempty"` // a sentence that can be proven false
	Took    time.Duration `json:"took"`            // nanoseconds
	Outcome string        `json:"outcome"`         // an invariant.Outcome; empty if it was not judged
	Error   string        `json:"error,omitempty"` // why the harness could not run or judge it
	// NotSupported is why the environment cannot run the scenario, for example a missing kernel feature. Nothing was tried
	// then, and the scenario counts as neither success nor failure: Outcome and Error are empty.
	NotSupported string `json:"notSupported,omitempty"`
	// Interrupted is where the scenario was interrupted. It then has an Outcome only if a promise had been broken before.
	Interrupted string `json:"interrupted,omitempty"`
	// NotBegun is why a chosen scenario was not begun: the run was interrupted. Outcome and Error are empty.
	NotBegun  string          `json:"notBegun,omitempty"`
	Reproduce string          `json:"reproduce,omitempty"`
	Mutant    *history.Mutant `json:"mutant,omitempty"`
	// Verdicts are JSON of invariant.Verdict, a type that this package cannot import.
	Verdicts []json.RawMessage `json:"verdicts,omitempty"`
	// Caught is the verdict on a mutant, of the same type. Missing in older files.
	Caught json.RawMessage `json:"caught,omitempty"`
}

// sealedFile is File in its written form. Checksum is the CRC-32C of everything in the file before the checksum's
// digits.
type sealedFile struct {
	File
	Checksum string `json:"checksum"`
}

// runTail is the end of run.json, after the digits of its checksum.
const runTail = "\"\n}\n"

// maxFileBytes limits what is read: the file of a thousand scenarios with all their evidence is smaller.
const maxFileBytes = 64 << 20

// Write writes run.json into a run's folder and creates the folder if necessary. A reader sees either the old file or the
// new one. Write sets Format.
func (f File) Write(dir string) error {
	f.Format = Format
	data, err := json.MarshalIndent(sealedFile{File: f}, "", "  ")
	if err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	data = data[:len(data)+1-len(runTail)] // up to where the checksum's digits go
	data = fmt.Appendf(data, "%08x%s", history.Checksum(0, data), runTail)
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write %s: %w", FileName, err)
	}
	return replaceFile(filepath.Join(dir, FileName), data)
}

// replaceFile writes a temporary file and renames it over the old one.
func replaceFile(name string, data []byte) error {
	file, err := os.CreateTemp(filepath.Dir(name), filepath.Base(name)+".*.tmp")
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	_, err = file.Write(data)
	// Without Sync a power failure may leave the new name with missing content.
	err = errors.Join(err, file.Chmod(0o644), file.Sync(), file.Close())
	if err == nil {
		err = os.Rename(file.Name(), name)
	}
	if err != nil {
		return errors.Join(fmt.Errorf("write %s: %w", name, err), os.Remove(file.Name()))
	}
	return nil
}

// ReadFile reads run.json from a run's folder. A missing file, a file of a newer format and a damaged file are errors.
func ReadFile(dir string) (File, error) {
	name := filepath.Join(dir, FileName)
	file, err := os.Open(name)
	if errors.Is(err, fs.ErrNotExist) {
		return File{}, fmt.Errorf("read run: no %s in %s: give a run's folder, such as artifacts/latest", FileName, dir)
	}
	if err != nil {
		return File{}, fmt.Errorf("read run: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxFileBytes))
	if err != nil {
		return File{}, fmt.Errorf("read run: %w", err)
	}
	f, err := decodeFile(data)
	if err != nil {
		return File{}, fmt.Errorf("read run: %s %w", name, err)
	}
	return f, nil
}

func decodeFile(data []byte) (File, error) {
	var version struct {
		Format int `json:"format"`
	}
	if err := json.Unmarshal(data, &version); err != nil {
		return File{}, fmt.Errorf("is damaged: %w", err)
	}
	if version.Format > Format {
		return File{}, fmt.Errorf("is of format %d, and this holdfast reads formats up to %d: use a newer one",
			version.Format, Format)
	}
	const digits = 8
	sealed := len(data) - len(runTail) - digits
	if version.Format < 1 || sealed < 0 || !bytes.HasSuffix(data, []byte(runTail)) {
		return File{}, errors.New("is not a run file of holdfast")
	}
	sum := fmt.Sprintf("%08x", history.Checksum(0, data[:sealed]))
	if written := string(data[sealed : sealed+digits]); written != sum {
		return File{}, fmt.Errorf("has checksum %.8q, but its content has %s: it was changed", written, sum)
	}
	var f sealedFile
	if err := json.Unmarshal(data, &f); err != nil {
		return File{}, fmt.Errorf("is damaged: %w", err)
	}
	return f.File, nil
}

// TwinNote is TwinNote for a mutant of this run.
func (f File) TwinNote(m history.Mutant) string {
	for _, s := range f.Scenarios {
		if s.Name == m.Twin {
			return TwinNote(m, s.Outcome, true)
		}
	}
	return TwinNote(m, "", false)
}
