package load

import (
	"fmt"
	"io"
	"io/fs"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/roundtrip"
	"github.com/holdfast-ha/holdfast/workloads/backend"
	"github.com/holdfast-ha/holdfast/workloads/serve"
)

// toShout is a client that sends its requests to another path.
type toShout struct{ http.RoundTripper }

func (c toShout) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.Clone(r.Context())
	r.URL.Path = "/shout"
	return c.RoundTripper.RoundTrip(r)
}

// shouting answers that path as the backend answers others.
func shouting(o backend.Options, otherwise http.Handler) http.Handler {
	mux := http.NewServeMux()
	mux.Handle("/", otherwise)
	mux.HandleFunc("/shout", func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set(backend.HeaderPod, strings.ToUpper(o.Pod))
		_, _ = io.WriteString(w, "ok "+r.Header.Get(backend.HeaderID)+"\n")
	})
	return mux
}

// A new lane is a client, a server and a row of the table: nothing else has to be changed for its requests to be sent, answered
// and recorded.
func TestANewLaneIsAClientAServerAndARow(t *testing.T) {
	const shout history.Lane = "shout"
	before := Lanes
	t.Cleanup(func() { Lanes = before })
	Lanes = append(slices.Clone(Lanes), LaneKind{
		Name: shout, Protocol: "HTTP/1.1", Connections: Multiplexed, Rate: 5, Server: shouting,
		connect: func(l Lane, d *dialer) transport {
			all := newHTTP(l, d, func(o roundtrip.Options) http.RoundTripper { return roundtrip.Pooled(o) })
			for i, t := range all.turns {
				all.turns[i] = toShout{t}
			}
			return all
		},
	})
	lanes := EveryLane()
	if last := lanes[len(lanes)-1]; last.Lane != shout || last.Rate != 5 {
		t.Errorf("the last of every lane is %+v", last)
	}
	if l := (Lane{Lane: shout}).withDefaults("", history.Share{}); l.Connections != DefaultHeld {
		t.Errorf("it takes %d connections in turn", l.Connections)
	}
	target := newClusterIP(t)
	end, ended := target.startPod(t, "pod-0", serve.Drain)
	plan := Plan{ID: "p", Duration: 500 * time.Millisecond, Lanes: []Lane{
		{Lane: shout, Rate: 20, Connections: 2, Target: "http://" + target.Addr().String() + "/", Timeouts: roomy},
	}}
	if err := plan.Validate(); err != nil {
		t.Fatal(err)
	}
	a := prepare(t, plan, nil, 0)
	a.play()
	good := 0
	for _, r := range a.check(t) {
		if r.Outcome == history.OK && r.Pod == "POD-0" {
			good++
		} else if r.Outcome != history.Unsent {
			t.Errorf("%+v", r)
		}
	}
	if good == 0 {
		t.Error("no request was answered")
	}
	end()
	if err := <-ended; err != nil {
		t.Error(err)
	}
}

var laneConstant = regexp.MustCompile(`const (Lane\w+) history\.Lane = "(\w+)"`)

// A lane that no promise singles out is named in its client's file and in the table, and nowhere else.
func TestLanesAreNamedOnce(t *testing.T) {
	names := make(map[string]string) // a pattern that names the lane, to the file of its client
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range files {
		for _, found := range laneConstant.FindAllStringSubmatch(read(t, file), -1) {
			names[fmt.Sprintf(`\b%s\b|Lane[^\n]*"%s"`, found[1], found[2])] = file
		}
	}
	if want := len(Lanes) - 3; len(names) != want { // package history names three for its readers
		t.Errorf("%d lanes are named in files of clients, want %d", len(names), want)
	}
	for _, file := range sources(t, filepath.Join("..", "..")) {
		content := read(t, file)
		for pattern, client := range names {
			if file != client && file != "lanes.go" && regexp.MustCompile(pattern).MatchString(content) {
				t.Errorf("%s names the lane of %s: derive it from Lanes", file, client)
			}
		}
	}
}

// sources returns the Go files below root that are no tests, relative to this folder.
func sources(t *testing.T, root string) (files []string) {
	t.Helper()
	here, err := filepath.Abs(".")
	if err != nil {
		t.Fatal(err)
	}
	err = filepath.WalkDir(root, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || !strings.HasSuffix(path, ".go") || strings.HasSuffix(path, "_test.go") {
			return err
		}
		full, err := filepath.Abs(path)
		if err != nil {
			return err
		}
		relative, err := filepath.Rel(here, full)
		files = append(files, relative)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	if len(files) < 100 {
		t.Fatalf("%d source files below %s", len(files), root)
	}
	return files
}

func read(t *testing.T, file string) string {
	t.Helper()
	content, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(content)
}

// The tables of lanes in the README of the framework are these.
func TestReadmeHasTheTablesOfLanes(t *testing.T) {
	for _, list := range [][]LaneKind{Lanes, ForeignLanes} {
		var want strings.Builder
		want.WriteString("  | lane | protocol | connections |\n  | --- | --- | --- |\n")
		for _, k := range list {
			fmt.Fprintf(&want, "  | `%s` | %s | %s |\n", k.Name, k.Protocol, k.Connections)
		}
		if !strings.Contains(read(t, filepath.Join("..", "README.md")), want.String()) {
			t.Errorf("framework/README.md has another table; want\n%s", want.String())
		}
	}
}
