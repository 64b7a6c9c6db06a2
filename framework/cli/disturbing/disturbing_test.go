package disturbing

import (
	"strings"
	"testing"

	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/app/appfile"
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
		var f Flags
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

// The command that does the same again names the cluster, the seed and the file.
func TestAgain(t *testing.T) {
	var f Flags
	set := pflag.NewFlagSet("test", pflag.ContinueOnError)
	f.Add(set)
	if err := set.Parse(strings.Fields("--disturb --context staging --holdfast-image r/hf:1 --steady 3s")); err != nil {
		t.Fatal(err)
	}
	got := f.again(Choice{App: appfile.Choice{File: "shop.yaml", Faults: []string{"drain", "scale"}}, Seed: 7})
	const want = "holdfast test --disturb --context staging --holdfast-image r/hf:1 --seed 7 --steady 3s --faults drain,scale 'shop.yaml'"
	if got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}
