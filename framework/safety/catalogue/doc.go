// Package catalogue is the table of what holdfast can do to a cluster that it did not make: for each fault, which objects it changes, with
// which verbs, and with which verbs the change is undone.
//
// It does nothing itself. `holdfast rbac` prints Roles from this table, and `holdfast plan` shows its rows object by object.
package catalogue
