// Package rows reads and writes files of one line for each row: CSV with typed columns, at millions of rows per second.
//
// The columns of a row are bound to the fields of one value of the caller, who copies each row into it or out of it. A row never
// spans lines, so line-based tools can read the files. encoding/csv allocates each field, and is several times slower.
//
// The package does not know what the rows mean: package history binds them to its requests.
package rows

// Column connects a column of a file with a field of the caller. Exactly one pointer is set.
type Column struct {
	Name     string // including the unit, if it has one
	Required bool   // a file without the column is not a file of such rows; other columns may be missing

	Text   *string
	Signed *int64
	Count  *uint64
	Number *int
	Flag   *bool // 0 or 1, so that every tool can sum them
}
