// Package trend reads all runs and certificates below a folder, says which figures have moved beyond their own noise, since when, and what else
// changed in that night, and writes a page about all of it.
//
//	all, err := trend.Read("artifacts")
//	t := trend.From(all, trend.DefaultLast)
//
// A trend is a pure function of the nights. A night in which a scenario was not judged has no figures of it, and nights that ran under other
// conditions are compared among themselves alone: see Conditions. The last night is not compared with the one before it, which noise
// decides. A single shift of each figure is found: a figure that rose and fell again within the same nights may show none.
package trend
