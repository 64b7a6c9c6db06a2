// Judged tells whether enough scenarios of a run were judged, for CI: a slow machine may leave some Unknown, and that is printed, and no failure.
//
//	judged 18/23 artifacts/last-attempt
//
// It is for runs of which nothing is Violated, and which the harness brought to their end.
package main

import (
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/holdfast-ha/holdfast/framework/history/runfolder"
	"github.com/holdfast-ha/holdfast/framework/judge"
	"github.com/holdfast-ha/holdfast/framework/judge/verdict"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, "judged:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	var least, of int
	if len(args) != 2 {
		return fmt.Errorf("want a share and a run's folder, such as 18/23 artifacts/last-attempt, not %q", args)
	}
	if n, err := fmt.Sscanf(args[0], "%d/%d", &least, &of); n != 2 || err != nil || least < 0 || of < max(1, least) {
		return fmt.Errorf("%q: want a share such as 18/23", args[0])
	}
	f, err := runfolder.ReadFile(args[1])
	if err != nil {
		return err
	}
	if lacks := judge.Lacks(f); len(lacks) > 0 {
		return fmt.Errorf("%s is not whole: %s", args[1], strings.Join(lacks, "; "))
	}
	said, err := enough(f, least, of)
	for _, line := range said {
		_, _ = fmt.Println(line)
	}
	return err
}

// enough returns a line about each scenario without a verdict, and an error if the run has failed: a promise was broken, the harness failed, an
// Unknown is not the machine's fault, or fewer of the scenarios that were begun have a verdict than the share.
func enough(f runfolder.File, least, of int) (said []string, err error) {
	begun, judged := 0, 0
	var wrong []string
	for _, s := range f.Scenarios {
		switch {
		case s.NotBegun != "":
			said = append(said, s.Name+": "+s.NotBegun)
			continue
		case s.NotSupported != "":
			said = append(said, s.Name+": not supported here: "+s.NotSupported)
			continue
		}
		begun++
		switch found, err := judge.Listed(&s); {
		case err != nil:
			return nil, err
		case s.Outcome == string(verdict.Held):
			judged++
		case s.Outcome != string(verdict.Unknown) || s.Error != "":
			wrong = append(wrong, fmt.Sprintf("%s is %s%s%s", s.Name, s.Outcome, s.Error, s.Interrupted))
		case !found.Busy():
			wrong = append(wrong, s.Name+" is unknown, and no busy machine explains it: "+why(found))
		default:
			said = append(said, s.Name+": unknown, because of the machine: "+why(found))
		}
	}
	said = append(said, fmt.Sprintf("%d of the %d scenarios that were begun were judged, of %d in all", judged, begun, len(f.Scenarios)))
	switch {
	case len(wrong) > 0:
		return said, errors.New(strings.Join(wrong, "; "))
	case begun == 0 || judged*of < least*begun:
		return said, fmt.Errorf("%d of %d is less than %d of %d", judged, begun, least, of)
	}
	return said, nil
}

func why(found judge.Found) string {
	_, sentence := found.Sum()
	return sentence
}
