// Package output reads what programs print, and shortens it for error messages.
package output

import "strings"

// Tail is the last lines of a program's output as an indented paragraph, without messages about downloads: compilers print the
// cause some lines before the last.
func Tail(text string) string {
	const shown = 6
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\r\n")
		if strings.TrimSpace(line) != "" && !strings.HasPrefix(line, "go: downloading ") {
			lines = append(lines, "  "+line)
		}
	}
	return strings.Join(lines[max(0, len(lines)-shown):], "\n")
}

// Lines are the lines of a program's output without surrounding space. Empty lines are omitted.
func Lines(text string) (lines []string) {
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); line != "" {
			lines = append(lines, line)
		}
	}
	return lines
}
