package scaling

import (
	"cmp"
	"slices"
	"time"
)

// Requests is what it took to judge and to report a record of so many requests.
type Requests struct {
	At       time.Time `json:"at"`
	Requests int       `json:"requests"`
	Outcome  string    `json:"outcome"` // of judging
	// Of the process that judged the record, and of the one that wrote the report: processor time, and the most that was resident.
	JudgeCPU    float64 `json:"judgeCPUSeconds"`
	JudgeBytes  int64   `json:"judgeBytes"`
	ReportCPU   float64 `json:"reportCPUSeconds"`
	ReportBytes int64   `json:"reportBytes"`
	RecordBytes int64   `json:"recordBytes"` // on disk
	PageBytes   int64   `json:"pageBytes"`   // of report.html
}

// RequestCourses are the figures of a record over the number of its requests.
func RequestCourses(all []Requests) []Course {
	return coursesOf(all, func(r Requests) float64 { return float64(r.Requests) }, []figure[Requests]{
		{"processor time to judge", "s", func(r Requests) float64 { return r.JudgeCPU }},
		{"memory to judge", "MiB", func(r Requests) float64 { return float64(r.JudgeBytes) / mib }},
		{"processor time to report", "s", func(r Requests) float64 { return r.ReportCPU }},
		{"memory to report", "MiB", func(r Requests) float64 { return float64(r.ReportBytes) / mib }},
		{"record", "MiB", func(r Requests) float64 { return float64(r.RecordBytes) / mib }},
		{"report.html", "MiB", func(r Requests) float64 { return float64(r.PageBytes) / mib }},
	})
}

// RequestTable is a table in Markdown: a row for each measurement, the fewest requests first, and the slope of each figure over them.
func RequestTable(all []Requests) string {
	all = slices.SortedStableFunc(slices.Values(all), func(a, b Requests) int { return cmp.Compare(a.Requests, b.Requests) })
	rows := make([][]string, len(all))
	for i, r := range all {
		rows[i] = []string{grouped(float64(r.Requests)), cmp.Or(r.Outcome, "none")}
	}
	return table([]string{"requests", "verdict"}, rows, RequestCourses(all), slopeLine{[]string{"slope over requests", ""}, RequestCourses(all)})
}
