// Package trend says which figures have moved beyond their own noise over many nights, since when, and what else changed in that night.
//
//	t := trend.Of(all, trend.DefaultLast)
//
// It is a pure function of the nights. A night in which a scenario was not judged has no figures of it, and nights that ran under other
// conditions are compared among themselves alone: see nights.Line. It does not compare the last night with the one before it, which noise
// decides, and it finds a single shift of each figure: a figure that rose and fell again within the same nights may show none.
package trend
