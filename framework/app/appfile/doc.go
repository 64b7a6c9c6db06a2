// Package appfile reads holdfast.yaml, in which the test of an application is written down, and guesses one from manifests: which requests show
// whether the application serves.
//
// It reads that file only, and asks no cluster. Package manifests reads the manifests that the file names, and package apptest makes scenarios of both.
package appfile
