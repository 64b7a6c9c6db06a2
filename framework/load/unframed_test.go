package load

import (
	"bufio"
	"fmt"
	"net"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// Answers that only the end of the connection ends look whole when their server dies. What earlier ones said shows that they are not.
func TestAnswersThatOnlyTheEndOfTheConnectionEnds(t *testing.T) {
	const ok, cut, wrong = history.OK, history.Truncated, history.WrongBody
	page := "<html><body>" + strings.Repeat("text ", 100) + "</body></html>"
	for name, test := range map[string]struct {
		head    string // beside the status
		answers []string
		want    []history.Outcome
		expect  string
	}{
		"a page, of which 19 bytes come":      {"", []string{page, page[:19], page}, []history.Outcome{ok, cut, ok}, ""},
		"nothing of a page":                   {"", []string{page, "", page}, []history.Outcome{ok, cut, ok}, ""},
		"JSON that differs, of which 19 come": {"", []string{`{"now":"12:00:01","items":[1,2,3]}`, `{"now":"12:00:02","`, `{"now":"12:00:03","items":[4]}`}, []history.Outcome{ok, cut, ok}, ""},
		"a number that is always the same":    {"", []string{"12345", "12345", "12345", "12", "12345"}, []history.Outcome{ok, ok, ok, cut, ok}, ""},
		"a text that is always the same":      {"", []string{"ok\n", "ok\n", "ok\n", "", "ok\n"}, []history.Outcome{ok, ok, ok, cut, ok}, ""},
		"a counter that begins again":         {"", []string{"57", "58", "5", "57"}, []history.Outcome{ok, ok, ok, ok}, ""},
		"a counter that stands, and begins":   {"", []string{"12345", "12345", "12346", "12346", "12", "1"}, []history.Outcome{ok, ok, ok, ok, ok, ok}, ""},
		"a number that was said once":         {"", []string{"57", "5", "57"}, []history.Outcome{ok, ok, ok}, ""},
		"a list of words that gets empty":     {"", []string{"a b c", "a b", "", "a b c"}, []history.Outcome{ok, ok, ok, ok}, ""},
		"lines of JSON that get fewer":        {"", []string{"{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}\n"}, []history.Outcome{ok, ok}, ""},
		"lines of JSON that are cut off":      {"", []string{"{\"a\":1}\n{\"b\":2}\n", "{\"a\":1}\n{\"b"}, []history.Outcome{ok, cut}, ""},
		"nothing of JSON":                     {"", []string{`{"items":[1,2,3]}`, ""}, []history.Outcome{ok, cut}, ""},
		"a page that is cut off after a tag":  {"", []string{page, page[:12]}, []history.Outcome{ok, cut}, ""},
		"numbers that get shorter":            {"", []string{"100", "99", "7"}, []history.Outcome{ok, ok, ok}, ""},
		"a text beside JSON":                  {"", []string{`{"items":[1,2,3]}`, "none", `[]`}, []history.Outcome{ok, ok, ok}, ""},
		"texts that differ":                   {"", []string{"at 12:00:01 all is well", "at 12:00:02 all", "at 12:00:03 all is well"}, []history.Outcome{ok, ok, ok}, ""},
		"longer ones":                         {"", []string{"a", "ab", "abc"}, []history.Outcome{ok, ok, ok}, ""},
		"what is expected comes first":        {"", []string{page, page[:19], page}, []history.Outcome{ok, wrong, ok}, "text text"},
		"with a length":                       {"Content-Length: %d\r\n", []string{page, page[:19], ""}, []history.Outcome{ok, ok, ok}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			target := talking(t, func(n int, c net.Conn) {
				defer c.Close() //nolint:errcheck // of a test
				for lines := bufio.NewScanner(c); lines.Scan() && lines.Text() != ""; {
				}
				head := test.head
				if strings.Contains(head, "%d") {
					head = fmt.Sprintf(head, len(test.answers[n]))
				}
				_, _ = fmt.Fprintf(c, "HTTP/1.1 200 OK\r\nConnection: close\r\n%s\r\n%s", head, test.answers[n])
			})
			l := testLane(t, Lane{
				Lane: history.LaneFresh, Target: strings.Replace(target, "tcp://", "http://", 1) + "/", Rate: 1, Connections: 1, Timeouts: roomy,
				Expect: expect.Answer{Status: []int{200}, Contains: test.expect},
			})
			var got []history.Outcome
			for _, row := range sendAll(t, l, len(test.answers)) {
				got = append(got, row.Outcome)
			}
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
		})
	}
}
