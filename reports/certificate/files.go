package certificate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/reports"
)

// The files of a certificate, in its folder.
const (
	JSONFile     = "certificate.json"
	YAMLFile     = "certificate.yaml"
	MarkdownFile = "certificate.md"
	HTMLFile     = "certificate.html"
)

// Read reads a certificate from a file, JSON or YAML, or from a folder that contains one. A document of another kind or version is an
// error. Unknown fields are skipped.
func Read(name string) (*Certificate, error) {
	info, err := os.Stat(name)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	if !info.IsDir() {
		return readFile(name)
	}
	for _, file := range []string{JSONFile, YAMLFile} {
		c, err := readFile(filepath.Join(name, file))
		if !errors.Is(err, fs.ErrNotExist) {
			return c, err
		}
	}
	return nil, fmt.Errorf("read certificate: neither %s nor %s is in %s", JSONFile, YAMLFile, name)
}

func readFile(name string) (*Certificate, error) {
	data, err := reports.ReadFile(name)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	c, err := Decode(data)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %s %w", name, err)
	}
	return c, nil
}

// Decode reads a certificate from JSON or YAML.
func Decode(data []byte) (*Certificate, error) {
	if !json.Valid(data) {
		var err error
		if data, err = yaml.YAMLToJSON(data); err != nil {
			return nil, fmt.Errorf("is neither JSON nor YAML: %w", err)
		}
	}
	var of struct{ APIVersion, Kind string }
	if err := json.Unmarshal(data, &of); err != nil || of.Kind == "" {
		return nil, errors.New("is not a certificate")
	}
	switch {
	case of.Kind != Kind:
		return nil, fmt.Errorf("has kind %q, want %s", of.Kind, Kind)
	case of.APIVersion != APIVersion:
		return nil, fmt.Errorf("has version %q, but this holdfast reads only %s", of.APIVersion, APIVersion)
	}
	var c Certificate
	if err := json.Unmarshal(data, &c); err != nil {
		return nil, fmt.Errorf("is damaged: %w", err)
	}
	return &c, nil
}

// Write writes all forms of a certificate into a folder, each completely or not at all. It creates the folder if necessary. An error does
// not keep the other forms from being written.
func Write(dir string, c *Certificate) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	return reports.WriteForms(dir, c, []reports.Form[*Certificate]{
		{File: JSONFile, Write: reports.WriteJSON[*Certificate]}, {File: YAMLFile, Write: WriteYAML},
		{File: MarkdownFile, Write: WriteMarkdown}, {File: HTMLFile, Write: WriteHTML},
	}...)
}

// WriteYAML writes certificate.yaml: the same fields.
func WriteYAML(w io.Writer, c *Certificate) error {
	data, err := yaml.Marshal(c)
	if err != nil {
		return fmt.Errorf("convert the certificate to YAML: %w", err)
	}
	_, err = w.Write(data)
	return err
}
