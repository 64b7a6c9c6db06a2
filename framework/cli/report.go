package cli

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/cli/terminal"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/framework/verdict"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/catalogue"
	"github.com/holdfast-ha/holdfast/reports/formats"
)

func reportCommand() *cobra.Command {
	var page string
	cmd := &cobra.Command{
		Use:   "report RUN [RUN ...]",
		Short: "Write the reports of a stored run again: HTML, Markdown, JSON, JUnit",
		Long: `report writes report.html, report.md, report.json and junit.xml into a run's folder, from what the run recorded.

With --catalogue FILE it writes no report. It adds what the runs found about each claim to findings.json in the folder of FILE, and
writes FILE from findings.json: a page that lists every claim with its finding. If several runs judged a claim, the last one counts.
Findings about claims that these runs did not judge stay, and findings about claims that no suite makes any more are removed.
suites/README.md is such a page.

Without --catalogue the exit code is that of the reported run, as for 'holdfast run'. With --catalogue it is 0 if both files were
written.`,
		Example: `  holdfast report artifacts/latest
  holdfast report artifacts/latest --catalogue suites/README.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if page == "" || len(args) == 0 {
				if err := terminal.OneArg(cmd, args); err != nil {
					return err
				}
			}
			if page == "" {
				return reportAgain(cmd.OutOrStdout(), args[0])
			}
			if err := catalogue.Update(page, claims(), args...); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", page)
			return err
		},
	}
	cmd.Flags().StringVar(&page, "catalogue", "", "add the findings to findings.json in the folder of this file, and write the file from it; write no report")
	return cmd
}

// reportAgain writes the reports of a stored run and prints the summary. Its error has the exit code of the run.
func reportAgain(out io.Writer, dir string) error {
	r, err := reports.Build(dir)
	if err != nil {
		return err
	}
	text := r.Line() + "\n"
	err = formats.Write(dir, r)
	if err == nil {
		text += "report: " + filepath.Join(dir, formats.HTMLFile) + "\n"
	}
	_, said := io.WriteString(out, text)
	return exit.Besides(reported(r), r.Damaged, err, said)
}

// reported is the error with the exit code of a report, which is also that of the run and of judge.
func reported(r reports.Report) error {
	switch r.Result {
	case reports.Held:
		return nil
	case reports.Violated:
		return exit.Judged(verdict.Violated)
	case reports.Interrupted:
		return exit.CutShort(r.Interrupted, r.Counts.Interrupted, r.Counts.NotBegun)
	}
	if slices.ContainsFunc(r.Scenarios, func(s reports.Scenario) bool { return s.NotJudged }) {
		return exit.FailedBefore()
	}
	return exit.Judged(verdict.Unknown)
}

// claims are those of every suite.
func claims() (list []catalogue.Claim) {
	for _, s := range scenario.All {
		list = append(list, catalogue.Claim{Scenario: s.Name, Claim: s.Claim})
	}
	return list
}
