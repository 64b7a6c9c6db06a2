package cli

import (
	"errors"

	"github.com/spf13/cobra"

	"github.com/holdfast-ha/holdfast/framework/cli/exit"
	"github.com/holdfast-ha/holdfast/framework/run/certify"
	"github.com/holdfast-ha/holdfast/reports/certificate"
)

func diffCommand() *cobra.Command {
	var asJSON bool
	cmd := &cobra.Command{
		Use:   "diff A B",
		Short: "Compare two certificates, and fail on a regression",
		Long: `diff reads two certificates, each a file (JSON or YAML) or a folder that contains one, and prints what differs in B from A:
regressions first, then missing evidence, then improvements and other differences. A regression is a result that was certified or Held
in A and is Violated, skipped, not supported or missing in B. Numbers are marked if they differ a lot, but do not change the exit code.
The last line names the scenarios that regressed.

Exit codes: 0 no regression; 1 a regression; 4 a certificate could not be read; 5 no regression, but a result that was Held is Unknown.`,
		Example: `  holdfast diff artifacts/20261120-020000 artifacts/latest
  holdfast diff --json yesterday/certificate.yaml today/certificate.json`,
		Args: twoArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			a, errA := certificate.Read(args[0])
			b, errB := certificate.Read(args[1])
			if err := errors.Join(errA, errB); err != nil {
				return exit.Usage(err)
			}
			d := certify.Compare(a, b)
			write := d.WriteText
			if asJSON {
				write = d.WriteJSON
			}
			if err := write(cmd.OutOrStdout()); err != nil {
				return err
			}
			return differs(d)
		},
	}
	cmd.Flags().BoolVar(&asJSON, "json", false, "print JSON")
	return cmd
}

// differs is the error with the exit code of a comparison.
func differs(d certify.Diff) error {
	switch {
	case len(d.Regressions) > 0:
		return exit.With(exit.Violated, errors.New("the second certificate has lost what the first one had; see above"))
	case len(d.Missing) > 0:
		return exit.With(exit.Unknown, errors.New("evidence is missing that the first certificate had; see above"))
	}
	return nil
}
