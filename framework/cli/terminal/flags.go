package terminal

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/framework/scenario"
)

// FlagError names the flag, what it wants, and a flag of a similar name.
func FlagError(cmd *cobra.Command, err error) error {
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
