package journal

// managerPrefix begins the names under which journals write to the API server. Each run has its own, so that the object itself says which
// run has set a field.
const managerPrefix = "holdfast-"

// undoer is the name under which fields are put back. It is the same for all runs, so that the names of runs do not stay behind on objects.
const undoer = "holdfast"

// longestManager is the API server's limit.
//
// Source: k8s.io/apimachinery/pkg/apis/meta/v1/validation, FieldManagerMaxLength
const longestManager = 128

func managerOf(run string) string {
	name := managerPrefix + run
	return name[:min(len(name), longestManager)]
}
