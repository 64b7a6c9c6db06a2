package cli

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/selection"
)

// oneOf completes names, which it asks for at completion time, and offers no files.
func oneOf(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) (begun []string, _ cobra.ShellCompDirective) {
		for _, name := range names() {
			if strings.HasPrefix(name, typed) {
				begun = append(begun, name)
			}
		}
		return begun, cobra.ShellCompDirectiveNoFileComp
	}
}

// completeRun completes the arguments and flags of a command that runs scenarios. It skips flags that the command does not have.
func completeRun(cmd *cobra.Command) {
	cmd.ValidArgsFunction = oneOf(func() []string { return selection.Names(scenario.All) })
	for flag, names := range map[string]func() []string{
		"scope":    func() []string { return []string{"short", "full"} },
		"timings":  func() []string { return []string{string(clusters.Lab), string(clusters.Stock)} },
		"incident": func() []string { return selection.IncidentNames(scenario.Incidents) },
	} {
		if cmd.Flags().Lookup(flag) != nil {
			_ = cmd.RegisterFlagCompletionFunc(flag, oneOf(names)) // its only error is an unknown flag
		}
	}
}
