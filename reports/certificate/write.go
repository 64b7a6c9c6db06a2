package certificate

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"

	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/reports"
)

// Write writes all forms of a certificate into a folder, each completely or not at all. It creates the folder if necessary. An error does
// not keep the other forms from being written.
func Write(dir string, c *Certificate) error {
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return fmt.Errorf("write certificate: %w", err)
	}
	var errs []error
	for _, form := range []struct {
		name  string
		write func(io.Writer, *Certificate) error
	}{
		{JSONFile, WriteJSON}, {YAMLFile, WriteYAML}, {MarkdownFile, WriteMarkdown}, {HTMLFile, WriteHTML},
	} {
		if err := reports.Replace(filepath.Join(dir, form.name), c, form.write); err != nil {
			errs = append(errs, fmt.Errorf("write %s: %w", form.name, err))
		}
	}
	return errors.Join(errs...)
}

// WriteJSON writes certificate.json.
func WriteJSON(w io.Writer, c *Certificate) error {
	out := json.NewEncoder(w)
	out.SetIndent("", "  ")
	out.SetEscapeHTML(false) // promises have < and > in them; this is not a web page
	return out.Encode(c)
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
