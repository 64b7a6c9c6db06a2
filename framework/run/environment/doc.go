// Package environment deploys what a scenario runs in: its namespace, backend, gateway, add-ons and load workers, with the watches
// that record them. It starts the load, collects the results, and removes everything.
//
// It injects no fault and judges nothing. See package run.
package environment
