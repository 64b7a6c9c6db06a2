// Package roles makes the smallest Roles with which some faults can be injected and undone, from the table in package catalogue.
//
// It asks no cluster and changes none: what it makes is for an administrator to read and to apply.
package roles
