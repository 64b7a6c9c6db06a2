package expect

import (
	"strings"
	"testing"
)

func json(path string) Answer { return Answer{Status: []int{200}, JSON: &JSON{Path: path}} }

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		answer Answer
		want   string // in the error; empty: valid
	}{
		"the sample backend's":  {Answer{}, ""},
		"a status":              {Answer{Status: []int{201}}, ""},
		"a status and a text":   {Answer{Status: []int{200, 404}, Contains: "ok"}, ""},
		"a text alone":          {Answer{Contains: "ok"}, `expect an answer with "ok" in the body: no status`},
		"a value":               {Answer{Status: []int{200}, JSON: &JSON{Path: "{.items[?(@.id==7)].name}"}}, ""},
		"a value alone":         {Answer{JSON: &JSON{Path: "{.id}"}}, `expect an answer with "" in the body: no status`},
		"no path":               {json(""), `expect a value at path "": want one path in braces, such as {.items[0].id}`},
		"a path without braces": {json(".id"), `expect a value at path ".id": want one path in braces, such as {.items[0].id}`},
		"two paths":             {json("{.a}{.b}"), `expect a value at path "{.a}{.b}": want one path in braces, such as {.items[0].id}`},
		"an empty path":         {json("{}"), `expect a value at path "{}": it names no value`},
		"a word":                {json("{id}"), `expect a value at path "{id}": it has a word that is no part of a path; fields begin with a dot`},
		"a loop":                {json("{range .items[*]}"), `expect a value at path "{range .items[*]}": it has a word that is no part of a path; fields begin with a dot`},
		"a constant":            {json("{'7'}"), `expect a value at path "{'7'}": it has a word that is no part of a path; fields begin with a dot`},
		"a path that is cut":    {json("{.items[0"), `expect a value at path "{.items[0": unterminated array`},
		"in time":               {Answer{Status: []int{200}, Within: MaxWithin}, ""},
		"in no time":            {Answer{Status: []int{200}, Within: -1}, "expect an answer within -1ns: want at most 10m0s"},
		"in a long time":        {Answer{Status: []int{200}, Within: MaxWithin + 1}, "expect an answer within 10m0.000000001s: want at most 10m0s"},
		"no final status":       {Answer{Status: []int{200, 101}}, "expect status 101: want 200 to 599"},
		"no status at all":      {Answer{Status: []int{600}}, "expect status 600: want 200 to 599"},
		"statuses of gRPC":      {Answer{Status: []int{200}, Codes: []string{"OK", "NOT_FOUND"}}, ""},
		"a text of a call":      {Answer{Status: []int{200}, Codes: []string{"OK"}, Contains: "ok"}, ""},
		"no status of gRPC": {Answer{Status: []int{200}, Codes: []string{"NotFound"}}, `expect gRPC status "NotFound": want one of OK, CANCELLED, UNKNOWN, ` +
			"INVALID_ARGUMENT, DEADLINE_EXCEEDED, NOT_FOUND, ALREADY_EXISTS, PERMISSION_DENIED, RESOURCE_EXHAUSTED, FAILED_PRECONDITION, ABORTED, " +
			"OUT_OF_RANGE, UNIMPLEMENTED, INTERNAL, UNAVAILABLE, DATA_LOSS, UNAUTHENTICATED"},
		"a text of an error": {Answer{Status: []int{200}, Codes: []string{"NOT_FOUND"}, Contains: "ok"}, "expect gRPC status NOT_FOUND and a content: only an answer with status OK has a content"},
		"a long text":        {Answer{Status: []int{200}, Contains: strings.Repeat("x", MaxContains+1)}, "expect a text of 4097 bytes in the body: want at most 4096"},
	}
	for name, tt := range tests {
		t.Run(name, func(t *testing.T) {
			switch err := tt.answer.Validate(); {
			case tt.want == "" && err != nil:
				t.Error(err)
			case tt.want != "" && (err == nil || err.Error() != tt.want):
				t.Errorf("got %v, want %s", err, tt.want)
			}
			if echo := tt.answer.Echo(); echo != (name == "the sample backend's") {
				t.Errorf("echo is %t", echo)
			}
		})
	}
}
