package main

import (
	"errors"
	"fmt"

	"github.com/holdfast-ha/holdfast/framework/history/historytest"
	"github.com/holdfast-ha/holdfast/framework/judge/invariant"
)

// writtenScenario is the scenario of a written record, and the folder of the record in that of its run.
const writtenScenario = "chaos/drain-one-worker"

// writtenRate is how many requests a written record has in each second: a hundred million of them are the load of 28 hours.
const writtenRate = 1000

// write writes a record of so many requests, none of which fails, with the promises that look at each of them.
func write(args []string) error {
	if len(args) != 2 {
		return errors.New("want the number of requests, and a new folder")
	}
	counts, err := countsOf(args[:1])
	if err != nil {
		return err
	}
	record := historytest.Many{Requests: counts[0], RatePerSecond: writtenRate}
	for _, i := range []invariant.Invariant{
		invariant.NoFailedRequests{}, invariant.FewFailedRequests{}, invariant.AnswersWithin{}, invariant.FailuresEndWithin{},
	} {
		p, err := invariant.Encode(i)
		if err != nil {
			return err
		}
		record.Promises = append(record.Promises, p)
	}
	if err := record.Write(args[1]); err != nil {
		return fmt.Errorf("write a record of %d requests in %s: %w", counts[0], args[1], err)
	}
	return nil
}
