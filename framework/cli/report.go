package cli

import (
	"errors"
	"fmt"
	"io"
	"path/filepath"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/base/prose"
	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/scenario"
	"github.com/holdfast-ha/holdfast/reports"
	"github.com/holdfast-ha/holdfast/reports/formats"
	"github.com/holdfast-ha/holdfast/reports/trend"
)

func reportCommand() *cobra.Command {
	var page string
	var all bool
	cmd := &cobra.Command{
		Use:   "report [RUN ...]",
		Short: "Write the reports of a stored run again: HTML, Markdown, JSON, JUnit",
		Long: `report writes report.html, report.md, report.json and junit.xml into a run's folder, from what the run recorded.

With --catalogue FILE it writes no report. It adds what the runs found about each scenario to findings.json in the folder of FILE, and
writes FILE from findings.json: a page with a row for each scenario. If several runs judged a scenario, the last one counts. Findings about
scenarios that these runs did not judge stay, and findings about claims that no suite makes any more are removed. suites/README.md is such
a page.

With --index it takes a folder with many runs and certificates, such as artifacts, and writes index.html into it: a row for each scenario
and a column for each night, with links to the reports, and what 'holdfast trend' finds. It shows the last 90 nights of each kind. A run
without report.json is reported from its record. Damaged and interrupted runs are listed as such.

The exit code is that of the reported run, as for 'holdfast run'. With --catalogue or --index it is 0 if the files were written.`,
		Example: `  holdfast report artifacts/latest
  holdfast report artifacts --index
  holdfast report artifacts/latest --catalogue suites/README.md`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if all && page != "" {
				return exit.Usage(errors.New("--index with --catalogue: they take different folders, so call report twice"))
			}
			if page == "" {
				if err := oneArg(cmd, args); err != nil {
					return err
				}
			}
			if all {
				return reportAll(cmd.OutOrStdout(), args[0])
			}
			if page == "" {
				return reportAgain(cmd.OutOrStdout(), args[0])
			}
			if err := formats.UpdateCatalogue(page, claims(), args...); err != nil {
				return err
			}
			_, err := fmt.Fprintf(cmd.OutOrStdout(), "report: %s\n", page)
			return err
		},
	}
	cmd.Flags().StringVar(&page, "catalogue", "", "add the findings to findings.json in the folder of this file, and write the file from it, also without a run; write no report")
	cmd.Flags().BoolVar(&all, "index", false, "write index.html about all runs and certificates below the folder; write no report")
	return cmd
}

// reportAll writes the page about all nights below a folder.
func reportAll(out io.Writer, dir string) error {
	found, err := nightsBelow(dir)
	if err != nil {
		return err
	}
	name := filepath.Join(dir, trend.PageFile)
	if err := reports.Replace(name, found, trend.WritePage); err != nil {
		return fmt.Errorf("write %s: %w", trend.PageFile, err)
	}
	_, err = fmt.Fprintf(out, "index of %s: %s\n", prose.Count(len(found), "night"), name)
	return err
}

// nightsBelow reads the runs and certificates below a folder; that there are none is an error.
func nightsBelow(dir string) ([]*trend.Night, error) {
	found, err := trend.Read(dir)
	if err == nil && len(found) == 0 {
		err = fmt.Errorf("read %s: there is no run and no certificate in it; give a folder with the folders of runs, such as artifacts", dir)
	}
	return found, err
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
	return exit.Besides(exit.Run(r.Worth(), r.Interrupted, r.Counts.Interrupted, r.Counts.NotBegun), r.Damaged, err, said)
}

// claims are what the scenarios claim, by their names.
func claims() map[string]string {
	all := make(map[string]string)
	for _, s := range scenario.All {
		all[s.Name] = s.Claim
	}
	return all
}
