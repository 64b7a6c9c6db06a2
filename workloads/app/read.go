package app

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"slices"
	"strings"
	"time"

	"golang.org/x/text/encoding/unicode"
	"golang.org/x/text/transform"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// Sources are where manifests are read.
type Sources struct {
	// Files are files, folders with all their subfolders, http URLs, or "-" for the standard input, as `kubectl apply -R -f` takes them.
	Files []string
	// Kustomize is a folder with a kustomization, as `kubectl apply -k` takes it; empty: none.
	Kustomize string
	// Chart is a Helm chart. Package manifests renders it.
	Chart Chart
	// Before are files, folders and URLs with what must be ready before all else.
	Before []string
	// Without are kinds of which all objects are left out, such as Certificate or Certificate.cert-manager.io.
	Without []string
}

// Chart is a Helm chart.
type Chart struct {
	Path    string   // a folder or an archive; empty: there is no chart
	Values  []string // files
	Release string   // empty: the name of the chart
}

// Empty reports whether no manifests are named.
func (s Sources) Empty() bool { return len(s.Files) == 0 && s.Kustomize == "" && s.Chart.Path == "" }

// HowToName says how manifests are named, for an error.
const HowToName = "name files or folders with -f, a kustomization with -k, or a Helm chart with --chart"

// Read reads manifests from files and a kustomization, in the order of the sources; those of Before come first, and are marked. The error
// names each file that is no manifest, what it is, and what to use instead. It shows nothing of what is in a file: that may be a password.
func Read(from Sources) ([]Manifest, error) {
	var r reader
	for _, name := range slices.Concat(from.Before, from.Files, from.Chart.Values, []string{from.Kustomize, from.Chart.Path}) {
		if _, err := ParsePublicURL(strings.TrimPrefix(name, "git::")); err != nil && strings.Contains(name, "://") {
			r.says("", "what is read is named by a URL, and %v: download it, and name the file", err)
		}
	}
	if len(r.wrong) > 0 {
		return nil, r.err()
	}
	for _, name := range from.Before {
		r.named(name)
	}
	for i := range r.all {
		r.all[i].Before = true
	}
	for _, name := range from.Files {
		r.named(name)
	}
	if from.Kustomize != "" {
		r.kustomization(from.Kustomize)
	}
	return r.all, r.err()
}

// Decode reads the manifests of a text. The source is where it is from.
func Decode(text io.Reader, source string) ([]Manifest, error) {
	var r reader
	all, err := io.ReadAll(text)
	r.text(source, all, err)
	for i := range r.all {
		r.all[i].document = document{} // the source may have another text
	}
	return r.all, r.err()
}

// reader reads files. What is wrong has a line for each file, or for each folder with a use of its own.
type reader struct {
	all      []Manifest
	wrong    []string
	inFolder bool // the file was found in a folder, and not named itself
}

// mostShown is how many lines an error has for as many files, objects or names, so that what matters can be found.
const mostShown = 5

// few are the first lines of a list, and how many more there are.
func few(lines []string) []string {
	if len(lines) <= mostShown {
		return lines
	}
	return append(slices.Clone(lines[:mostShown]), fmt.Sprintf("and %d more", len(lines)-mostShown))
}

func (r *reader) err() error {
	switch len(r.wrong) {
	case 0:
		return nil
	case 1:
		return errors.New("read manifests: " + r.wrong[0])
	}
	return fmt.Errorf("read manifests: %d files or folders are not what -f takes:\n  %s", len(r.wrong), strings.Join(few(r.wrong), "\n  "))
}

func (r *reader) says(where, format string, args ...any) {
	r.wrong = append(r.wrong, where+fmt.Sprintf(format, args...))
}

// named reads what a user names. A pipe is read like a file.
func (r *reader) named(name string) {
	if name == "-" {
		text, err := io.ReadAll(os.Stdin)
		r.text("STDIN", text, err)
		return
	}
	if strings.Contains(name, "://") {
		text, err := download(name)
		r.text(name, text, err)
		return
	}
	switch info, err := os.Stat(name); {
	case errors.Is(err, fs.ErrNotExist):
		r.says("", "there is no file or folder %s", name)
	case err == nil && info.IsDir():
		r.folder(name)
	default:
		r.file(name)
	}
}

func (r *reader) file(name string) {
	text, err := os.ReadFile(name)
	r.text(name, text, err)
}

// folder reads a folder with all its subfolders, without those that have a use of their own. Only regular files are read: a pipe that is found there
// may have no end.
func (r *reader) folder(root string) {
	var found tree
	if err := found.walk(root); err != nil {
		r.says("", "%v", err)
		return
	}
	r.wrong = append(r.wrong, found.uses(root)...)
	r.inFolder = true
	for _, file := range found.files {
		if !found.used(file) {
			r.file(file)
		}
	}
	r.inFolder = false
}

// text reads a text. The first document that is no manifest tells what the file is.
func (r *reader) text(source string, text []byte, err error) {
	if err == nil {
		text, _, err = transform.Bytes(unicode.BOMOverride(unicode.UTF8.NewDecoder()), text)
	}
	if err != nil {
		if cause := errors.Unwrap(err); cause != nil { // without the name, which is there already
			err = cause
		}
		r.says(source+": ", "%v", err)
		return
	}
	for _, d := range split(text) {
		values, wrong := d.values()
		for _, value := range values {
			if wrong == "" {
				wrong = r.object(source, d, value)
			}
		}
		if wrong != "" {
			r.says(source+": ", "%s", wrong)
			return
		}
	}
}

// object adds the manifest of a value, or those of a list. The answer is what is wrong.
func (r *reader) object(source string, d document, value any) (wrong string) {
	o, is := value.(map[string]any)
	switch {
	case value == nil: // comments only
		return ""
	case !is:
		return d.near() + "it is no object with fields, so it is no manifest: leave it out"
	}
	m := Manifest{Source: source, Object: unstructured.Unstructured{Object: o}, document: document{start: d.start, line: d.line}}
	if items, is := o["items"].([]any); is {
		for _, item := range items {
			m.inherit(item)
			if wrong := r.object(source, document{line: noLine}, item); wrong != "" {
				return wrong
			}
		}
		return ""
	}
	if r.inFolder && m.ofHoldfast() {
		return ""
	}
	if wrong := m.mistaken(); wrong != "" {
		return d.near() + wrong
	}
	r.all = append(r.all, m)
	return ""
}

// inherit gives an item of a typed list, such as a PodList, the kind that it does not repeat.
func (m Manifest) inherit(item any) {
	if o, is := item.(map[string]any); is && o["kind"] == nil && o["apiVersion"] == nil {
		o["kind"], o["apiVersion"] = strings.TrimSuffix(m.Object.GetKind(), "List"), m.Object.GetAPIVersion()
	}
}

// download is the text at a URL.
func download(url string) ([]byte, error) {
	answer, err := (&http.Client{Timeout: time.Minute}).Get(url)
	if err != nil {
		return nil, err
	}
	defer answer.Body.Close() //nolint:errcheck // read only
	if answer.StatusCode != http.StatusOK {
		return nil, fmt.Errorf("the server answers %s", answer.Status)
	}
	return io.ReadAll(answer.Body)
}
