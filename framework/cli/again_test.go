package cli

import (
	"testing"

	"github.com/spf13/pflag"
)

// A command to run again can be pasted into a shell. It has the flags that were given, and only those that matter.
func TestAgain(t *testing.T) {
	for want, args := range map[string][]string{
		"holdfast x --seed 7":                                                           {"--artifacts", "a", "-v", "--list"},
		"holdfast x --seed 7 --fix":                                                     {"--fix", "--seed", "5"},
		"holdfast x --seed 7 --fix=false":                                               {"--fix=false"},
		"holdfast x --seed 7 --url 'http://a/?x=1' --url http://b/":                     {"--url", "http://a/?x=1,http://b/"},
		`holdfast x --seed 7 --url '"http://a/?x=1,2"'`:                                 {"--url", `"http://a/?x=1,2"`},
		"holdfast x --seed 7 --label a,b --label c --upgrade './up.sh now' --wait 2m0s": {"--label", "a,b", "--label", "c", "--upgrade", "./up.sh now", "--wait", "2m"},
		"holdfast x --seed 7 --wait 1s":                                                 {"--wait", "1s", "--scope", "full"},
	} {
		flags := pflag.NewFlagSet("", pflag.ContinueOnError)
		flags.BoolP("verbose", "v", false, "")
		flags.Bool("list", false, "")
		flags.Bool("fix", false, "")
		flags.StringSlice("url", nil, "")
		flags.StringArray("label", nil, "")
		flags.Uint64("seed", 0, "")
		flags.Duration("wait", 0, "")
		for _, name := range []string{"artifacts", "upgrade", "scope"} {
			flags.String(name, "", "")
		}
		if err := flags.Parse(args); err != nil {
			t.Fatal(err)
		}
		if got := againCommand([]string{"holdfast", "x"}, flags, []string{"scope"}, "--seed", "7"); got != want {
			t.Errorf("%q: got  %s\nwant %s", args, got, want)
		}
	}
}
