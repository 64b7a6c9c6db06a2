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
)

// The files of a certificate, in its folder.
const (
	JSONFile     = "certificate.json"
	YAMLFile     = "certificate.yaml"
	MarkdownFile = "certificate.md"
	HTMLFile     = "certificate.html"
)

// maxBytes bounds what is read. A hundred scenarios with all their evidence are much smaller.
const maxBytes = 64 << 20

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
	file, err := os.Open(name)
	if err != nil {
		return nil, fmt.Errorf("read certificate: %w", err)
	}
	defer func() { _ = file.Close() }() // only read
	data, err := io.ReadAll(io.LimitReader(file, maxBytes))
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
