package expect

import (
	"strings"
	"testing"
)

func TestValidate(t *testing.T) {
	tests := map[string]struct {
		answer Answer
		want   string // in the error; empty: valid
	}{
		"the sample backend's": {Answer{}, ""},
		"a status":             {Answer{Status: []int{201}}, ""},
		"a status and a text":  {Answer{Status: []int{200, 404}, Contains: "ok"}, ""},
		"a text alone":         {Answer{Contains: "ok"}, `expect "ok" in the body: no status`},
		"no final status":      {Answer{Status: []int{200, 101}}, "expect status 101: want 200 to 599"},
		"no status at all":     {Answer{Status: []int{600}}, "expect status 600: want 200 to 599"},
		"a long text":          {Answer{Status: []int{200}, Contains: strings.Repeat("x", MaxContains+1)}, "expect a text of 4097 bytes in the body: want at most 4096"},
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
