// Package historytest builds recorded runs in memory, for tests of code that judges or reports them.
//
// Start from Healthy, a drain that no client noticed, and damage what the test is about; or from New, which is empty:
//
//	run := historytest.Healthy().
//		Fail(history.LaneFresh, 17*time.Second, 18*time.Second, history.Refused).
//		Run()
//
// It is not a simulator: it does not keep the parts of a record consistent, because tests need inconsistent records. It is
// for tests, and for measuring what records cost.
package historytest
