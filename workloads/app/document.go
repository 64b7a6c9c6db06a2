package app

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strconv"
	"strings"

	utiljson "k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/yaml"
)

// document is one of the documents of a text.
type document struct {
	text  []byte
	start int64 // where it begins
	line  int   // its first line, counted from 1; 0: unknown
}

// noLine is the line of an item of a list, which is no document of its own.
const noLine = -1

// split are the documents of a text, as kubectl separates them. What follows a separator on its line belongs to the document.
func split(text []byte) (all []document) {
	next, at, line := document{line: 1}, int64(0), 1
	for one := range bytes.Lines(text) {
		end := at + int64(len(one))
		if rest, is := bytes.CutPrefix(one, []byte("---")); is && (len(rest) == 0 || bytes.ContainsAny(rest[:1], " \t\r\n#")) {
			all = append(all, document{text[next.start:at], next.start, next.line})
			next = document{start: at, line: line}
			if rest = bytes.TrimSpace(rest); len(rest) == 0 || rest[0] == '#' {
				next = document{start: end, line: line + 1}
			}
		}
		at, line = end, line+1
	}
	return append(all, document{text[next.start:], next.start, next.line})
}

// near says where the document begins, unless it is the file's first one.
func (d document) near() string {
	if d.line <= 1 {
		return ""
	}
	return fmt.Sprintf("line %d: ", d.line)
}

// values are what a document has: a value of YAML, or several of JSON. YAML has braces, too, and does not know all of JSON.
func (d document) values() (values []any, wrong string) {
	if text := bytes.TrimSpace(bytes.TrimPrefix(d.text, []byte("---"))); len(text) > 0 && text[0] == '{' {
		if values, err := ofJSON(text); err == nil {
			return values, ""
		}
	}
	text, err := yaml.YAMLToJSON(d.text)
	if err != nil {
		return nil, d.broken(err)
	}
	var value any
	if err := utiljson.Unmarshal(text, &value); err != nil {
		return nil, d.near() + "it is no YAML that Kubernetes reads"
	}
	return []any{value}, ""
}

func ofJSON(text []byte) (values []any, err error) {
	stream := json.NewDecoder(bytes.NewReader(text))
	for {
		var raw json.RawMessage
		if err := stream.Decode(&raw); errors.Is(err, io.EOF) {
			return values, nil
		} else if err != nil {
			return nil, err
		}
		var value any
		if err := utiljson.Unmarshal(raw, &value); err != nil {
			return nil, err
		}
		values = append(values, value)
	}
}

var (
	ofParser = regexp.MustCompile(`yaml: (?:line (\d+): )?(.+)$`)
	oneSign  = regexp.MustCompile(`'.'`)
)

// broken says why a document is no YAML. The parser's words are used where they quote no more than a sign that it expects: others quote the file.
func (d document) broken(err error) string {
	line, cause := d.line, "it is no YAML"
	if found := ofParser.FindStringSubmatch(err.Error()); found != nil {
		if n, err := strconv.Atoi(found[1]); err == nil {
			line += n - 1
		}
		if !strings.ContainsAny(oneSign.ReplaceAllString(found[2], ""), "'\"`[") {
			cause += ": " + found[2]
		}
	}
	if bytes.Contains(d.text, []byte("{{")) {
		cause += ". If it is a template, render it first, a chart of Helm with --chart"
	}
	return fmt.Sprintf("near line %d: %s", line, cause)
}
