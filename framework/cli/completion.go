package cli

import (
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/run/maintenance"
	"github.com/holdfast-ha/holdfast/framework/run/provider"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/suites/mutants/upgrade"
)

// oneOf completes names, which it asks for at completion time, and offers no files.
func oneOf(names func() []string) cobra.CompletionFunc {
	return func(_ *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		return begunBy(typed, names()), cobra.ShellCompDirectiveNoFileComp
	}
}

func begunBy(typed string, names []string) (begun []string) {
	for _, name := range names {
		if strings.HasPrefix(name, typed) {
			begun = append(begun, name)
		}
	}
	return begun
}

// completeScenarios completes the names of scenarios.
var completeScenarios = oneOf(func() []string { return scenario.Names(scenario.All) })

// completeClusters completes the names of the clusters in the container engine. Without an engine it offers none.
func completeClusters(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if e, err := engine.Find(cmd.Context(), engine.Options{NoInstall: true}); err == nil {
		names, _ = maintenance.Clusters(cmd.Context(), e) // without the names, nothing is completed
	}
	return begunBy(typed, names), cobra.ShellCompDirectiveNoFileComp
}

// flagValues complete what follows a flag, by its name. A flag of this name takes the same values in every command.
var flagValues = map[string]cobra.CompletionFunc{
	"cluster":  completeClusters,
	"emit":     oneOf(func() []string { return []string{"policy"} }),
	"fail-on":  oneOf(func() []string { return []string{"error", "warning", "note", "never"} }),
	"for":      completeScenarios,
	"incident": oneOf(func() []string { return scenario.IncidentNames(scenario.Incidents) }),
	"label":    oneOf(func() []string { return scenario.Labels(scenario.All) }),
	"lane":     oneOf(laneNames),
	"plant":    oneOf(upgrade.Names),
	"profile":  oneOf(profileNames),
	"provider": oneOf(func() []string { return slices.Sorted(maps.Keys(provider.Makers)) }),
	"proxy-mode": oneOf(func() []string {
		return []string{string(clusters.NFTables), string(clusters.IPTables), string(clusters.IPVS)}
	}),
	"scope":   oneOf(func() []string { return []string{"short", "full"} }),
	"skip":    oneOf(ruleNames),
	"timings": oneOf(func() []string { return []string{string(clusters.Lab), string(clusters.Stock)} }),
}

// completeFlags completes the values of the flags of a command and of its subcommands.
func completeFlags(cmd *cobra.Command) {
	cmd.LocalFlags().VisitAll(func(f *pflag.Flag) {
		if values, known := flagValues[f.Name]; known {
			_ = cmd.RegisterFlagCompletionFunc(f.Name, values) // its only error is an unknown flag
		}
	})
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

func laneNames() (names []string) {
	for _, lane := range load.Lanes {
		names = append(names, string(lane.Name))
	}
	return names
}

func profileNames() (names []string) {
	for _, p := range scenario.Profiles {
		names = append(names, strings.ToLower(p.Name))
	}
	return names
}

func ruleNames() (names []string) {
	for _, rule := range audit.Rules {
		names = append(names, rule.ID)
	}
	return names
}
