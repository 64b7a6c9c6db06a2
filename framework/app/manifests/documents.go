package manifests

import (
	"bufio"
	"bytes"
	"errors"
	"io"
	"os"
	"path"
	"path/filepath"
	"strings"

	"k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdfast-ha/holdfast/workloads/app"
)

// sourceComment is the comment in which Helm names the template of the documents that follow: the chart's name, and the path in it.
const sourceComment = "# Source: "

// documents are the manifests of a text that Helm has rendered, each with its template as its source.
func documents(text []byte, chart string) (all []app.Manifest, err error) {
	reader := yaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(text)))
	source := chart
	for {
		document, err := reader.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, err
		}
		for line := range strings.Lines(string(document)) {
			if named, is := strings.CutPrefix(line, sourceComment); is {
				source = templateOf(chart, strings.TrimSpace(named))
				break
			}
		}
		if empty(document) {
			continue
		}
		manifests, err := app.Decode(bytes.NewReader(document), source)
		if err != nil {
			return nil, err
		}
		all = append(all, manifests...)
	}
}

// templateOf is the file of a template, or the template in its archive.
func templateOf(chart, named string) string {
	_, inside, _ := strings.Cut(named, "/")
	if file := filepath.Join(chart, filepath.FromSlash(inside)); isFile(file) {
		return file
	}
	return path.Join(filepath.ToSlash(chart), inside)
}

func isFile(name string) bool {
	info, err := os.Stat(name)
	return err == nil && info.Mode().IsRegular()
}

// empty reports whether a document has comments only, as a template has whose condition is false.
func empty(document []byte) bool {
	for line := range bytes.Lines(document) {
		if line = bytes.TrimSpace(line); len(line) > 0 && line[0] != '#' && !bytes.HasPrefix(line, []byte("---")) {
			return false
		}
	}
	return true
}
