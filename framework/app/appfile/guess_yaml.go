package appfile

import (
	"fmt"
	"strings"

	"go.yaml.in/yaml/v3"
)

// inYAML is a text, a list or a map on one line, with quotes where YAML needs them.
func inYAML(value any) string {
	var n yaml.Node
	err := n.Encode(value)
	if n.Style = yaml.FlowStyle; n.Kind == yaml.ScalarNode {
		n.Style = 0
	}
	if strings.ContainsAny(n.Value, "\n\r") {
		n.Style = yaml.DoubleQuotedStyle
	}
	text, wrong := yaml.Marshal(&n)
	if err != nil || wrong != nil { // only what is no UTF-8 cannot be written, such as the name of a file
		return fmt.Sprintf("%q", value)
	}
	return strings.TrimSuffix(string(text), "\n")
}

// comment is a text on one line.
func comment(text string) string { return strings.Join(strings.Fields(text), " ") }
