// Package stats holds the statistics that verdicts and reports quote: bounds, intervals, histograms of durations, and the random
// distribution of connections. It knows nothing of records.
package stats
