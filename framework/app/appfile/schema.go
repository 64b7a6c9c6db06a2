package appfile

import (
	"bytes"
	_ "embed"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
)

// SchemaName is the usual name of the file with Schema.
const SchemaName = "holdfast.schema.json"

// SchemaLine is a comment by which editors with yaml-language-server find the schema beside a file. The path is relative, so neither a
// network nor a folder of one machine is needed.
const SchemaLine = "# yaml-language-server: $schema=" + SchemaName

// Schema is the JSON schema of File. TestSchema generates it from the Go types and the comments of their fields.
//
//go:embed holdfast.schema.json
var Schema []byte

// schemaTitle marks a schema that holdfast wrote.
const schemaTitle = "holdfast.yaml"

// Write writes a new file, and the schema beside it. It overwrites nothing but a schema of another holdfast.
func Write(path, text string) error {
	schema := filepath.Join(filepath.Dir(path), SchemaName)
	old, err := os.ReadFile(schema)
	if err == nil && !bytes.Contains(old, []byte(`"title": "`+schemaTitle+`"`)) {
		return fmt.Errorf("%s exists already, and is no schema of holdfast: move it, or write to another folder with --output", schema)
	}
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	file, err := os.OpenFile(path, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o644)
	if errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("%s exists already: remove it, or write another file with --output", path)
	}
	if err != nil {
		return err
	}
	_, err = file.WriteString(text)
	if err := errors.Join(err, file.Close()); err != nil {
		return err
	}
	return os.WriteFile(schema, Schema, 0o644)
}
