// Package loadtest has servers in memory and checks for tests of the load.
package loadtest
