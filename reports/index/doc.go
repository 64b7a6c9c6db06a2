// Package index writes index.html, one page about all nights below a folder: a row for each scenario and a column for each night, each cell
// with its verdict and a link to that night's report, and the course of a few figures.
//
// The page is one file that loads nothing and needs no server. It shows what package nights has read and what package trend has found, and decides
// nothing itself.
package index
