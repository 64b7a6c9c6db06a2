// Package profiles says what a cluster has to be able to do to be certified, one file a profile: features, and the scenarios
// of the other suites that show them. The same scenarios are run before an upgrade and after it; so they are few, and fast.
package profiles
