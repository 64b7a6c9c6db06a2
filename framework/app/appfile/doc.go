// Package appfile reads holdfast.yaml, in which the test of an application is written down.
//
// It reads that file only. Package app reads the manifests that the file names, and package apptest makes scenarios of both.
package appfile
