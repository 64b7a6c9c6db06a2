// Package terminal is what all commands have in common for the one who types them: help that fits a terminal, completion, and warnings in
// plain lines.
//
// It knows no command.
package terminal
