package cli

import (
	"fmt"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/reports"
)

func reportCommand() *cobra.Command {
	return &cobra.Command{
		Use:     "report RUN",
		Short:   "Write a stored run's reports anew: HTML, Markdown, JSON, JUnit",
		Long:    "report writes report.html, report.md, report.json and junit.xml into a run's folder, from what the run recorded.",
		Example: "  holdfast report artifacts/latest",
		Args:    oneArg,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := reports.WriteAll(args[0]); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", filepath.Join(args[0], reports.HTMLFile))
			return err
		},
	}
}
