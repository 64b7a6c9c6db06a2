package cli

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"
)

// Nothing is disturbed because of a flag that was meant for something else: the cluster is named, and each flag belongs to what is done.
func TestWanted(t *testing.T) {
	for args, test := range map[string]struct {
		is   bool
		want string // of the error; empty: there is none
	}{
		"":                  {false, ""},
		"--faults rollout":  {false, ""},
		"--context staging": {false, "--context without --disturb"},
		"--steady 3s":       {false, "--steady without --disturb"},
		"--disturb --context staging --holdfast-image r/hf:1":                {true, ""},
		"--disturb --holdfast-image r/hf:1":                                  {true, "name it with --context"},
		"--disturb --kubeconfig /x --holdfast-image r/hf:1":                  {true, "name it with --context"},
		"--disturb --context staging":                                        {true, "--holdfast-image names it"},
		"--disturb --context staging --holdfast-image r/hf:1 --load nowhere": {true, "--load nowhere: want inside, outside or both"},
		"--disturb --context staging --holdfast-image r/hf:1 --recover 0s":   {true, "must be positive"},
	} {
		var f disturbFlags
		set := pflag.NewFlagSet("test", pflag.ContinueOnError)
		f.Add(set)
		set.Bool("keep", false, "")
		set.String("faults", "", "")
		if err := set.Parse(strings.Fields(args)); err != nil {
			t.Fatal(err)
		}
		is, err := f.Wanted(set)
		if is != test.is || (err == nil) != (test.want == "") || err != nil && !strings.Contains(err.Error(), test.want) {
			t.Errorf("%q: wanted %t, %v; want %t and %q", args, is, err, test.is, test.want)
		}
	}
}
