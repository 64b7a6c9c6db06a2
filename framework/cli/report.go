package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
)

func reportCommand() *cobra.Command {
	var catalogue string
	cmd := &cobra.Command{
		Use:   "report RUN [RUN ...]",
		Short: "Write a stored run's reports anew: HTML, Markdown, JSON, JUnit",
		Long: `report writes report.html, report.md, report.json and junit.xml into a run's folder, from what the run recorded. With
--catalogue it writes, into a file of that name, what the run found of every claim, or the last of several runs that judged
it, and leaves what the file says of other claims that still stand; suites/README.md is made so.`,
		Example: `  holdfast report artifacts/latest
  holdfast report artifacts/latest --catalogue suites/README.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if catalogue == "" || len(args) == 0 {
				if err := oneArg(cmd, args); err != nil {
					return err
				}
			}
			written := filepath.Join(args[0], reports.HTMLFile)
			write := func() error { return reports.WriteAll(args[0]) }
			if catalogue != "" {
				written, write = catalogue, func() error { return reports.ReplaceCatalogue(catalogue, claims(), args...) }
			}
			if err := write(); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", written)
			return err
		},
	}
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "write what was found of every claim into this file, and no report")
	return cmd
}

// claims are those of every suite.
func claims() (list []reports.Claim) {
	for _, s := range scenario.All {
		list = append(list, reports.Claim{Scenario: s.Name, Claim: s.Claim})
	}
	return list
}
