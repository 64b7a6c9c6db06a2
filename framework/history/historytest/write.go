package historytest

import (
	"errors"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// Write records the run in dir, for tests of code that reads files. An Incomplete run lacks its end line, like the record
// of a killed harness. The error of FailReading is not written.
func (b *Builder) Write(dir string) error {
	run := b.Run()
	w, err := history.Create(dir, run.Header)
	if err != nil {
		return err
	}
	for _, e := range run.Events {
		if e.Header == nil {
			err = errors.Join(err, w.Append(e))
		}
	}
	byWorker := make(map[string][]history.Request)
	for i := range b.requests {
		byWorker[b.requests[i].Worker] = append(byWorker[b.requests[i].Worker], b.requests[i])
	}
	for worker, rows := range byWorker {
		requests, requestsErr := w.Requests(worker)
		if requestsErr != nil {
			return errors.Join(err, requestsErr)
		}
		err = errors.Join(err, requests.Append(rows...)) // a single call, because they may be in any order
	}
	if run.Incomplete != "" {
		return err
	}
	return errors.Join(err, w.Close())
}
