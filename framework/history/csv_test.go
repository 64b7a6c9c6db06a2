package history

import (
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"
)

// fullRequest has every field set to a distinct value.
func fullRequest() Request {
	return Request{
		Worker: "worker-0", Lane: LaneReused, Seq: 41, Due: 12 * time.Second, Sent: 12*time.Second + 70*time.Microsecond,
		Done: 12*time.Second + 2*time.Millisecond, Outcome: BadStatus, Status: 503, Attempts: 2, Bytes: 17,
		Err: `read tcp 10.0.0.1:4->10.0.0.2:80: said "go away", reset`, Conn: 9, Reused: true, Addr: "10.0.0.2:80",
		Pod: "backend-1", Node: "w1", Zone: "a", Revision: "5f9c", Inferred: true, GatewayTries: 3,
	}
}

func encode(requests ...Request) []byte {
	e := NewEncoder()
	csv := e.AppendHeader(nil)
	for i := range requests {
		csv = e.Append(csv, &requests[i])
	}
	return csv
}

func decode(csv []byte) ([]Request, error) {
	var all []Request
	for r, err := range DecodeRequests(csv) {
		if err != nil {
			return all, err
		}
		all = append(all, *r)
	}
	return all, nil
}

// TestFormatOfRequests shows the file as other tools see it. Columns may be added, but must not be removed or renamed.
func TestFormatOfRequests(t *testing.T) {
	got := string(encode(fullRequest(), Request{Worker: "worker-0", Lane: LaneFresh, Due: -1, Outcome: Unsent}))
	want := `worker,lane,seq,due_ns,sent_ns,done_ns,outcome,status,attempts,body_bytes,conn,reused,addr,pod,node,zone,` +
		`revision,inferred,gateway_tries,err
worker-0,reused,41,12000000000,12000070000,12002000000,bad-status,503,2,17,9,1,10.0.0.2:80,backend-1,w1,a,5f9c,1,3,` +
		`"read tcp 10.0.0.1:4->10.0.0.2:80: said ""go away"", reset"
worker-0,fresh,0,-1,0,0,unsent,0,0,0,0,0,,,,,,0,0,
`
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// TestEveryFieldHasAColumn fails if a field of Request is missing from bind.
func TestEveryFieldHasAColumn(t *testing.T) {
	want := fullRequest()
	v := reflect.ValueOf(want)
	for i := range v.NumField() {
		if v.Field(i).IsZero() {
			t.Fatalf("fullRequest leaves %s zero: this test needs it set", v.Type().Field(i).Name)
		}
	}
	got, err := decode(encode(want))
	if err != nil {
		t.Fatal(err)
	}
	if diff := cmp.Diff([]Request{want}, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

// randomRequest mixes common values, odd values and limits.
func randomRequest(rng *rand.Rand) Request {
	text := func() string {
		switch rng.IntN(4) {
		case 0:
			return ""
		case 1:
			return fmt.Sprintf("backend-%d", rng.IntN(7))
		case 2:
			return strings.Repeat(`a,"é`, rng.IntN(5))
		default:
			odd := make([]byte, rng.IntN(40))
			for i := range odd {
				odd[i] = byte(rng.UintN(256))
			}
			return string(odd)
		}
	}
	number := func() int64 {
		limits := []int64{0, 1, -1, math.MaxInt64, math.MinInt64, rng.Int64(), -rng.Int64(), rng.Int64N(1000)}
		return limits[rng.IntN(len(limits))]
	}
	return Request{
		Worker: text(), Lane: Lane(text()), Seq: rng.Uint64() >> rng.UintN(64), Due: Offset(number()),
		Sent: Offset(number()), Done: Offset(number()), Outcome: Outcome(text()), Status: int(int32(number())),
		Attempts: int(int32(number())), Bytes: number(), Err: text(), Conn: uint64(number()), Reused: rng.IntN(2) == 0,
		Addr: text(), Pod: text(), Node: text(), Zone: text(), Revision: text(), Inferred: rng.IntN(2) == 0,
		GatewayTries: int(int32(number())),
	}
}

// cleaned is a request in the form that a file can contain.
func cleaned(r Request) Request {
	for _, c := range bind(&r) {
		if c.Text != nil {
			*c.Text = cleanText(*c.Text)
		}
	}
	return r
}

func TestRequestsSurviveTheFile(t *testing.T) {
	const seed = 1
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 200 {
		requests := make([]Request, rng.IntN(50))
		want := make([]Request, len(requests))
		for i := range requests {
			requests[i] = randomRequest(rng)
			want[i] = cleaned(requests[i])
		}
		csv := encode(requests...)
		if lines := strings.Count(string(csv), "\n"); lines != len(requests)+1 || !utf8.Valid(csv) {
			t.Fatalf("%d lines for %d requests, valid UTF-8: %v", lines, len(requests), utf8.Valid(csv))
		}
		got, err := decode(csv)
		if err != nil {
			t.Fatal(err)
		}
		if len(got) != len(want) {
			t.Fatalf("%d requests became %d", len(want), len(got))
		}
		for i := range want {
			if got[i] != want[i] {
				t.Fatalf("(-want +got):\n%s", cmp.Diff(want[i], got[i]))
			}
		}
	}
}

func TestColumnsAreFoundByName(t *testing.T) {
	csv := `new,done_ns,outcome,worker,lane,note,seq,due_ns,sent_ns
"a,b",3,ok,w,fresh,x,7,1,2
,6,ok,w,fresh,"",8,4,5
`
	got, err := decode([]byte(csv))
	if err != nil {
		t.Fatal(err)
	}
	want := []Request{
		{Worker: "w", Lane: LaneFresh, Seq: 7, Due: 1, Sent: 2, Done: 3, Outcome: OK},
		{Worker: "w", Lane: LaneFresh, Seq: 8, Due: 4, Sent: 5, Done: 6, Outcome: OK},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestDamagedRequests(t *testing.T) {
	const names = "worker,lane,seq,due_ns,sent_ns,done_ns,outcome,status,reused,err\n"
	good := "w,fresh,1,2,3,4,ok,200,0,\n"
	tests := map[string]struct {
		csv  string
		rows int
		want string
	}{
		"empty":        {"", 0, "row 1: cut off in the middle of the line"},
		"another file": {"a,b\n1,2\n", 0, "this is not a requests file"},
		"column twice": {"worker,lane,worker\n", 0, `row 1: two columns are named "worker"`},
		"half a row":   {names + good + "w,fresh,1,2", 1, "row 3: cut off in the middle of the line"},
		"no line end":  {names + good[:len(good)-1], 0, "row 2: cut off in the middle of the line"},
		"no number":    {names + good + "w,fresh,x,2,3,4,ok,200,0,\n", 1, "row 3: column seq: is not a whole number"},
		"large count":  {names + "w,fresh,18446744073709551616,2,3,4,ok,200,0,\n", 0, "row 2: column seq: is too large a number"},
		"large time":   {names + "w,fresh,1,9223372036854775808,3,4,ok,200,0,\n", 0, "column due_ns: is too large a number"},
		"flag":         {names + "w,fresh,1,2,3,4,ok,200,2,\n", 0, "column reused: is neither 0 nor 1"},
		"too few":      {names + "w,fresh,1\n" + good, 0, "row 2: column seq: too many or too few fields"},
		"too many":     {names + "w,fresh,1,2,3,4,ok,200,0,,\n", 0, "row 2: column err: too many or too few fields"},
		"open quotes":  {names + "w,fresh,1,2,3,4,ok,200,0,\"a\n" + good, 0, "row 2: column err: quotes do not match"},
		"long line":    {names + good + strings.Repeat("x", maxLineBytes) + good, 1, "row 3: the line is longer than 1048576 bytes"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got, err := decode([]byte(test.csv))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("error %v, want %q in it", err, test.want)
			}
			if len(got) != test.rows {
				t.Errorf("%d rows before the error, want %d", len(got), test.rows)
			}
		})
	}
}

// TestDecodingCopiesNoNames: decoding must not copy names, so that judging millions of requests is cheap.
func TestDecodingCopiesNoNames(t *testing.T) {
	csv := encode(typicalRequests(10_000)...)
	allocs := testing.AllocsPerRun(1, func() {
		if n := countRows(t, csv); n != 10_000 {
			t.Fatalf("%d rows", n)
		}
	})
	if allocs > 200 {
		t.Errorf("%.0f allocations for 10,000 rows", allocs)
	}
}

func countRows(tb testing.TB, csv []byte) (n int) {
	tb.Helper()
	for _, err := range DecodeRequests(csv) {
		if err != nil {
			tb.Fatal(err)
		}
		n++
	}
	return n
}

func FuzzDecodeRequests(f *testing.F) {
	f.Add(encode(fullRequest(), Request{Worker: "w", Lane: LaneFresh, Outcome: OK}))
	f.Add([]byte("worker,lane,seq,due_ns,sent_ns,done_ns,outcome,extra\nw,fresh,1,2,3,4,ok,\"a\"\"b\"\n"))
	if golden, err := os.ReadFile(golden + "/requests/worker-0-00000.csv"); err == nil {
		f.Add(golden)
	}
	f.Fuzz(func(t *testing.T, csv []byte) {
		got, err := decode(csv)
		if err != nil {
			return
		}
		if lines := strings.Count(string(csv), "\n"); lines != len(got)+1 {
			t.Fatalf("%d lines gave %d requests and no error", lines, len(got))
		}
		// Requests that were read can be written and read again, unchanged except for texts that the Encoder cleans.
		want := make([]Request, len(got))
		for i := range got {
			want[i] = cleaned(got[i])
		}
		again, err := decode(encode(got...))
		if err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff(want, again, cmp.Comparer(func(a, b []Request) bool { return len(a) == 0 && len(b) == 0 || reflect.DeepEqual(a, b) })); diff != "" {
			t.Fatalf("(-want +got):\n%s", diff)
		}
	})
}

// typicalRequests returns n requests of a healthy run.
func typicalRequests(n int) []Request {
	all := make([]Request, n)
	for i := range all {
		due := Offset(i) * 2500 * time.Microsecond
		pod := i % 6
		all[i] = Request{
			Worker: "worker-0", Lane: []Lane{LaneFresh, LaneReused}[i%2], Seq: uint64(i / 2), Due: due, Sent: due + 70123,
			Done: due + 1834567, Outcome: OK, Status: 200, Attempts: 1, Bytes: 9, Conn: uint64(i), Reused: i%2 == 1,
			Addr: "10.96.14.201:80", Pod: fmt.Sprintf("backend-6d5f7c9b8-x%dk2p", pod), Node: fmt.Sprintf("holdfast-worker%d", pod),
			Zone: fmt.Sprintf("zone-%d", pod%3), Revision: "6d5f7c9b8", GatewayTries: 1,
		}
	}
	return all
}

func TestCleanText(t *testing.T) {
	long := strings.Repeat("é", maxTextBytes) // two bytes each
	tests := map[string]struct{ in, want string }{
		"clean stays":       {"read tcp: connection reset, \"é\"", "read tcp: connection reset, \"é\""},
		"lines":             {"one\r\ntwo\x00\x7f", "one  two  "},
		"not UTF-8":         {"a\xffb", "a\uFFFDb"},
		"long":              {long, long[:maxTextBytes]},
		"long and odd":      {"a" + long, "a" + long[:maxTextBytes-2]},
		"long by replacing": {strings.Repeat("\xff", maxTextBytes), strings.Repeat("\uFFFD", maxTextBytes/3)},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			got := cleanText(test.in)
			if got != test.want {
				t.Errorf("got %.60q (%d bytes), want %.60q (%d bytes)", got, len(got), test.want, len(test.want))
			}
			if again := cleanText(got); again != got {
				t.Errorf("cleaning %.60q again gives %.60q", got, again)
			}
		})
	}
}
