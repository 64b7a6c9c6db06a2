// Package apptest makes scenarios of an application of the user's own: for each workload that a probe reaches, one scenario for each
// fault.
//
// It does not run scenarios and does not judge them. Package run does the first, package judge the second, as for holdfast's own
// workload.
package apptest
