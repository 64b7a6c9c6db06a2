// Package profiles defines what a cluster must be able to do to be certified, one file per profile: features, and the scenarios
// of the other suites that show them. Every scenario runs both before and after an upgrade, so they are few and fast.
package profiles
