package expect

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"google.golang.org/genproto/googleapis/rpc/code"
)

// OK is the status of a gRPC call that succeeded.
const OK = "OK"

// CodeName is the name of a status of gRPC by its number, such as NOT_FOUND; empty: there is none.
func CodeName(number int32) string { return code.Code_name[number] }

// CodeNames are the names of all statuses of gRPC, in the order of their numbers.
func CodeNames() (names []string) {
	for _, number := range slices.Sorted(maps.Keys(code.Code_name)) {
		names = append(names, code.Code_name[number])
	}
	return names
}

// validateCodes returns an error for a status that no gRPC call has, and for a content that is expected of an answer without one.
func (a Answer) validateCodes() error {
	for _, c := range a.Codes {
		if _, known := code.Code_value[c]; !known {
			return fmt.Errorf("expect gRPC status %q: want one of %s", c, strings.Join(CodeNames(), ", "))
		}
		if c != OK && (a.Contains != "" || a.JSON != nil) {
			return fmt.Errorf("expect gRPC status %s and a content: only an answer with status %s has a content", c, OK)
		}
	}
	return nil
}
