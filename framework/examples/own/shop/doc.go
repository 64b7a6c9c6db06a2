// Package shop is a suite of another repository: a scenario, a fault and a promise, one file each. Its scenarios are registered
// when the package is imported.
package shop
