// Package historytest builds recorded runs in memory, for the tests of whatever judges or reports them.
//
// Start from Healthy, a drain that no client noticed, and spoil what the test is about; or from New, which is empty:
//
//	run := historytest.Healthy().
//		Fail(history.LaneFresh, 17*time.Second, 18*time.Second, history.Refused).
//		Run()
//
// It is no simulator: it does not keep the parts of a record consistent with each other, because tests need records
// that are not. It is for tests only.
package historytest
