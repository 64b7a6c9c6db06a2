package runfolder

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"time"

	"golang.org/x/sys/unix"

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

// Fit is what the machine of a cluster's nodes carried beside the cluster, before any load, and what was chosen for it.
type Fit struct {
	Cluster    string        `json:"cluster"`
	Processors float64       `json:"processors"`        // that endless loops on a node got
	Requests   float64       `json:"requestsPerSecond"` // that loops on a node sent to its kubelet, on new connections, and that were answered
	PodStart   time.Duration `json:"podStart"`          // nanoseconds, until a pod was ready

	Rate             float64       `json:"rate"`                       // the share of the scenarios' own rates at which requests are sent
	LoadWorkers      int           `json:"loadWorkers,omitempty"`      // the most that a scenario has; 0: as many as it asks for
	NodeMonitorGrace time.Duration `json:"nodeMonitorGrace,omitempty"` // nanoseconds, in place of that of the timings; 0: as they are
}

// AddFit adds what was measured on a cluster, once.
func (f *File) AddFit(one Fit) {
	if one.Cluster != "" && !slices.Contains(f.Fits, one) {
		f.Fits = append(f.Fits, one)
	}
}

// TwinNote is what a reader of a mutant's result must know about its twin: only if the twin held in the same run, the
// missing practice is proven to be what was caught. outcome is the twin's, empty if it was not judged; run reports whether the
// twin was part of the run. The note is empty if the twin held.
func TwinNote(m history.Mutant, outcome string, run bool) string {
	switch {
	case m.Twin == "" || !run:
		return "its twin was not run"
	case outcome == "held":
		return ""
	case outcome == "":
		return "its twin was not judged in the same run"
	}
	return "its twin was " + outcome + " in the same run"
}

// TrapWords describe a server that sets a trap.
const TrapWords = "it waits up to a second for a request that it can hurt"

// MutantNotes must accompany every statement that a mutant was caught or not caught.
func MutantNotes(m history.Mutant, twin string) (notes []string) {
	if m.Trap {
		notes = append(notes, "its server sets a trap: "+TrapWords)
	}
	if m.ByChance {
		notes = append(notes, "it is caught by chance alone: catches are counted, but not required")
	}
	if twin != "" {
		notes = append(notes, twin)
	}
	return notes
}

// OutcomeInterrupted is the Outcome of a File whose run was interrupted before every scenario had been run to its end,
// if no promise had been broken by then. It is not an invariant.Outcome, because the untried scenarios have no verdict.
const OutcomeInterrupted = "interrupted"

// OutOfTime begins File.Interrupted of a run that left scenarios out because they would not have ended in time.
const OutOfTime = "--time-budget "

// Cut reports whether the run was interrupted before every scenario had been run to its end.
func (f File) Cut() bool {
	interrupted, notBegun := f.Left()
	return interrupted+notBegun > 0
}

// Left counts the interrupted scenarios, and those that were not begun because the run was interrupted.
func (f File) Left() (interrupted, notBegun int) {
	for _, s := range f.Scenarios {
		switch {
		case s.NotBegun != "":
			notBegun++
		case s.Left():
			interrupted++
		}
	}
	return interrupted, notBegun
}

// Left reports whether the scenario was not run to its end because the run was interrupted. A scenario that had broken a
// promise before counts as violated, and not as left.
func (s ScenarioResult) Left() bool {
	return s.NotBegun != "" || s.Interrupted != "" && s.Outcome == ""
}

// CutShort clears the outcome of a scenario that was interrupted, and returns true if it did: an interrupted scenario must
// not count as lacking evidence. A promise broken before the interruption stays broken, except for a mutant, of which
// nothing is known. where is Run.Interrupted of the record.
func (s *ScenarioResult) CutShort(where string) bool {
	const violated = "violated" // an invariant.Outcome; this package cannot import invariant
	s.Interrupted = where
	if where == "" || s.Outcome == violated && s.Mutant == nil {
		return false
	}
	s.Outcome = ""
	return true
}

// SetAsidePrefix begins the names of folders in a run's folder that hold the records of scenarios that were run again. They
// are not part of the run: Records leaves them out.
const SetAsidePrefix = "set-aside-"

// Chosen is a scenario that was chosen for a run.
type Chosen struct {
	Name string `json:"name"`
}

// Resumption is the continuation of an interrupted run.
type Resumption struct {
	At       time.Time `json:"at"`
	Holdfast string    `json:"holdfast"` // version of the harness that continued the run
	// Again are the scenarios that were run again, or for the first time. All others kept their results.
	Again []Again `json:"again"`
}

// Again is a scenario that a resumed run did not keep.
type Again struct {
	Name string `json:"name"`
	Why  string `json:"why"`
	// SetAside is the folder of the old record, relative to the run's folder, with slashes; empty if there was none.
	SetAside string `json:"setAside,omitempty"`
}

// SortScenarios puts the results in the order of Chosen.
func (f File) SortScenarios() {
	rank := func(s ScenarioResult) int {
		return slices.IndexFunc(f.Chosen, func(c Chosen) bool { return c.Name == s.Name })
	}
	slices.SortStableFunc(f.Scenarios, func(a, b ScenarioResult) int { return rank(a) - rank(b) })
}

// Machine is what a run ran on: the machine of the nodes, or the one that holdfast ran on if it did not make the cluster. Figures of different
// machines say little about each other.
type Machine struct {
	Cores  int    `json:"cores"`
	Arch   string `json:"arch"`             // as Go names it: amd64
	Kernel string `json:"kernel,omitempty"` // its release
	CPU    string `json:"cpu,omitempty"`    // its model; empty if the machine does not tell
}

// ThisMachine is the one that this process runs on.
func ThisMachine() *Machine {
	m := &Machine{Cores: runtime.NumCPU(), Arch: runtime.GOARCH, CPU: cpuModel("/proc/cpuinfo")}
	var host unix.Utsname
	if unix.Uname(&host) == nil {
		m.Kernel = unix.ByteSliceToString(host.Release[:])
	}
	return m
}

// cpuModel is the model of the first CPU that the file lists.
func cpuModel(name string) string {
	file, err := os.Open(name)
	if err != nil {
		return "" // only Linux has it
	}
	defer func() { _ = file.Close() }() // only read
	lines := bufio.NewScanner(file)
	for lines.Scan() {
		if key, model, _ := strings.Cut(lines.Text(), ":"); strings.TrimSpace(key) == "model name" {
			return strings.TrimSpace(model)
		}
	}
	return ""
}
