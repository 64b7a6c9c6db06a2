package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
)

func reportCommand() *cobra.Command {
	var catalogue string
	cmd := &cobra.Command{
		Use:   "report RUN [RUN ...]",
		Short: "Write a stored run's reports anew: HTML, Markdown, JSON, JUnit",
		Long: `report writes report.html, report.md, report.json and junit.xml into a run's folder, from what the run recorded. With
--catalogue it writes, into a file of that name, what the run found of every claim, or the last of several runs that judged
it, and leaves what the file says of other claims that still stand; suites/README.md is made so.

Without --catalogue the exit code is that of what it reports, as of 'holdfast run'; with it, 0 if the file was written.`,
		Example: `  holdfast report artifacts/latest
  holdfast report artifacts/latest --catalogue suites/README.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if catalogue == "" || len(args) == 0 {
				if err := oneArg(cmd, args); err != nil {
					return err
				}
			}
			if catalogue == "" {
				return reportAgain(cmd.OutOrStdout(), args[0])
			}
			if err := reports.ReplaceCatalogue(catalogue, claims(), args...); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", catalogue)
			return err
		},
	}
	cmd.Flags().StringVar(&catalogue, "catalogue", "", "write what was found of every claim into this file, and no report")
	return cmd
}

// reportAgain writes the reports of a stored run and says what they say. Its outcome is the run's.
func reportAgain(out io.Writer, dir string) error {
	m, err := reports.Build(dir)
	if err != nil {
		return err
	}
	text := m.Line() + "\n"
	err = reports.Write(dir, m)
	if err == nil {
		text += "report: " + filepath.Join(dir, reports.HTMLFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return besides(reported(m), m.Damaged, err, said)
}

// reported makes the exit code of a report, which agrees with that of the run and of judge.
func reported(m reports.Model) error {
	switch m.Result() {
	case reports.Held:
		return nil
	case reports.Violated:
		return judged(verdict.Violated)
	case reports.Interrupted:
		return cutShort(m.Interrupted, m.Count(reports.Interrupted), m.Count(reports.NotBegun))
	}
	if slices.ContainsFunc(m.Scenarios, func(s reports.Scenario) bool { return s.NotJudged }) {
		return failedBefore()
	}
	return judged(verdict.Unknown)
}

// claims are those of every suite.
func claims() (list []reports.Claim) {
	for _, s := range scenario.All {
		list = append(list, reports.Claim{Scenario: s.Name, Claim: s.Claim})
	}
	return list
}
