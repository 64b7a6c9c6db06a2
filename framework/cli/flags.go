package cli

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/base/self"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// flagError names the flag, what it wants, and a flag of a similar name.
func flagError(cmd *cobra.Command, err error) error {
	var invalid *pflag.InvalidValueError
	var unknown *pflag.NotExistError
	switch {
	case errors.As(err, &invalid):
		if wants := wantedBy(invalid.GetFlag().Value.Type()); wants != "" {
			err = fmt.Errorf("--%s %s: want %s", invalid.GetFlag().Name, invalid.GetValue(), wants)
		}
	case errors.As(err, &unknown):
		var names []string
		cmd.Flags().VisitAll(func(f *pflag.Flag) { names = append(names, "--"+f.Name) })
		if meant := scenario.Meant("--"+unknown.GetSpecifiedName(), names); meant != "" {
			err = fmt.Errorf("%w: %s", err, meant)
		}
	}
	return fmt.Errorf("%w\nsee '%s --help'", err, cmd.CommandPath())
}

// wantedBy is what a flag of a type wants, in words; empty if its own error says so.
func wantedBy(kind string) string {
	switch kind {
	case "int", "int64":
		return "a whole number"
	case "uint", "uint64":
		return "a whole number, 0 or more"
	case "float64":
		return "a number"
	case "duration":
		return "a duration, such as 30s"
	case "bool":
		return "true or false"
	}
	return ""
}

// noArgs rejects arguments as a usage error.
func noArgs(cmd *cobra.Command, args []string) error { return exit.Usage(cobra.NoArgs(cmd, args)) }

// oneArg wants exactly one argument.
func oneArg(cmd *cobra.Command, args []string) error { return wantArgs(cmd, args, 1, "one argument") }

// twoArgs wants exactly two arguments.
func twoArgs(cmd *cobra.Command, args []string) error { return wantArgs(cmd, args, 2, "two arguments") }

func wantArgs(cmd *cobra.Command, args []string, n int, words string) error {
	if len(args) == n {
		return nil
	}
	return exit.Usage(fmt.Errorf("want %s, and %d were given: %s", words, len(args), cmd.UseLine()))
}

// clusterFlags are flags for a cluster that holdfast did not make. A credential plugin runs below this program, if this program is holdfast.
func clusterFlags() *existing.Flags {
	f := existing.NewFlags()
	f.Executable = self.Running()
	return f
}

// providerFlag is the flag that says what creates the clusters.
const providerFlag = "provider"

// proxyModeHelp is the help of --proxy-mode.
const proxyModeHelp = "kube-proxy's mode on every cluster: nftables, iptables, or ipvs where the kernel has it; default: nftables"

// providerNamed makes the provider of --provider, see provider.Maker.
func providerNamed(ctx context.Context, name string, out io.Writer, say func(string)) (provider.Provider, error) {
	make, known := provider.Makers[name]
	if !known {
		return provider.Provider{}, exit.Usage(fmt.Errorf("provider %q: want one of %s", name,
			strings.Join(slices.Sorted(maps.Keys(provider.Makers)), ", ")))
	}
	return make(ctx, out, say)
}

// sayTo returns a function that writes progress lines for the user.
func sayTo(w io.Writer) func(string, ...any) {
	return func(format string, args ...any) { _, _ = fmt.Fprintf(w, format+"\n", args...) }
}

// printJSON prints a value for programs.
func printJSON(out io.Writer, v any) error {
	encoder := json.NewEncoder(out)
	encoder.SetIndent("", "  ")
	return encoder.Encode(v)
}
