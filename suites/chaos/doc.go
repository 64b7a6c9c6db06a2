// Package chaos holds a fault under load: what clients may notice of it. One file a scenario.
package chaos
