package cli

import (
	"log/slog"
	"slices"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
)

// commands are all commands, by their words, such as "image build".
func commands(root *cobra.Command) map[string]*cobra.Command {
	all := map[string]*cobra.Command{}
	var visit func(c *cobra.Command)
	visit = func(c *cobra.Command) {
		all[strings.TrimSpace(strings.TrimPrefix(c.CommandPath(), root.Name()))] = c
		for _, sub := range c.Commands() {
			visit(sub)
		}
	}
	visit(root)
	return all
}

func TestEveryCommandRefusesWhatItDoesNotKnow(t *testing.T) {
	for words, c := range commands(Command("v1.2.3")) {
		if c.DisableFlagParsing { // the workload's servers parse their own flags
			continue
		}
		_, code, err := execute(t, append(strings.Fields(words), "--nonsense")...)
		want := "unknown flag: --nonsense\nsee '" + c.CommandPath() + " --help'"
		if code != exit.BadUsage || err == nil || err.Error() != want {
			t.Errorf("holdfast %s --nonsense: exit code %d, %v; want 4 and %q", words, code, err, want)
		}
		if words == "run" || words == "heal" { // their arguments are names, which they check
			continue
		}
		_, code, err = execute(t, append(strings.Fields(words), "some", "thing")...)
		if code != exit.BadUsage || err == nil {
			t.Errorf("holdfast %s some thing: exit code %d, %v; want 4", words, code, err)
		}
	}
}

func TestHelpIsNoMistake(t *testing.T) {
	for words, c := range commands(Command("v1.2.3")) {
		out, code, err := execute(t, append(strings.Fields(words), "--help")...)
		if code != exit.Held || !strings.Contains(out, c.Example) || !strings.Contains(out, "Usage:") {
			t.Errorf("holdfast %s --help: exit code %d, %v\n%s", words, code, err, out)
		}
	}
	for _, args := range [][]string{nil, {"workload"}} { // without a command, the help is printed
		if out, code, _ := execute(t, args...); code != exit.Held || !strings.Contains(out, "Usage:") {
			t.Errorf("holdfast %v: exit code %d\n%s", args, code, out)
		}
	}
	if out, _, _ := execute(t, "--help"); strings.Contains(out, "\n  workload ") {
		t.Errorf("the help offers the workload commands, which are for pods:\n%s", out)
	}
}

// Help fits a terminal of 100 columns.
func TestHelpFits(t *testing.T) {
	for words := range commands(Command("v1.2.3")) {
		out, _, _ := execute(t, append(strings.Fields(words), "--help")...)
		for line := range strings.SplitSeq(out, "\n") {
			if utf8.RuneCountInString(line) > 100 {
				t.Errorf("holdfast %s --help: %d columns: %s", words, utf8.RuneCountInString(line), line)
			}
		}
	}
}

// The examples in each command's help have valid commands, flags and numbers of arguments.
func TestExamplesAreUnderstood(t *testing.T) {
	root := Command("v1.2.3")
	for words, c := range commands(root) {
		if c.DisableFlagParsing {
			continue
		}
		lines := strings.FieldsFunc(c.Example, func(r rune) bool { return r == '\n' || r == '&' })
		for _, line := range lines {
			line, _, _ = strings.Cut(line, "#")
			typed := strings.Fields(line)
			if len(typed) < 2 || typed[0] != "holdfast" {
				t.Errorf("%s: its example %q is no command of ours", words, line)
				continue
			}
			found, rest, err := root.Find(typed[1:])
			if err == nil {
				err = found.ParseFlags(rest)
			}
			if err == nil && found.Args != nil {
				err = found.Args(found, found.Flags().Args())
			}
			if err != nil || found == root {
				t.Errorf("%s: its example %q is not understood: %v", words, line, err)
			}
		}
	}
}

// -v logs at level Debug, otherwise the level is Warn.
func TestVerbose(t *testing.T) {
	before := slog.Default()
	t.Cleanup(func() { slog.SetDefault(before) })
	for _, test := range []struct {
		args []string
		want []slog.Level
	}{
		{[]string{"version"}, []slog.Level{slog.LevelWarn, slog.LevelError}},
		{[]string{"version", "-v"}, []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError}},
	} {
		if _, code, err := execute(t, test.args...); code != exit.Held {
			t.Fatal(err)
		}
		var got []slog.Level
		for _, l := range []slog.Level{slog.LevelDebug, slog.LevelInfo, slog.LevelWarn, slog.LevelError} {
			if slog.Default().Enabled(t.Context(), l) {
				got = append(got, l)
			}
		}
		if !slices.Equal(got, test.want) {
			t.Errorf("holdfast %v logs %v, want %v", test.args, got, test.want)
		}
	}
}
