// Package chaos holds scenarios that inject a fault under load and state what clients may notice. One file per scenario.
package chaos
