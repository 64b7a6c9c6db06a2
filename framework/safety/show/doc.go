// Package show writes a plan for people and for programs.
//
// It decides nothing: package disturb does.
package show
