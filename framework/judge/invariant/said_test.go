package invariant_test

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
)

// said are the sentences of verdicts, in a file for each kind of promise: what a test says is stored under its name, and the second of a test under
// its name and 2.
var said = struct {
	sync.Mutex
	files map[string]map[string]string
	times map[string]int
}{files: make(map[string]map[string]string), times: make(map[string]int)}

func saidFile(kind string) string { return filepath.Join("testdata", "said", kind+".txt") }

// saidOf reads what is stored of a kind.
func saidOf(t *testing.T, kind string) map[string]string {
	t.Helper()
	if of, read := said.files[kind]; read {
		return of
	}
	of := make(map[string]string)
	data, err := os.ReadFile(saidFile(kind))
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		t.Fatal(err)
	}
	for entry := range strings.SplitSeq(string(data), "\n== ") {
		name, text, _ := strings.Cut(strings.TrimPrefix(entry, "== "), "\n")
		of[name] = strings.TrimSuffix(text, "\n")
	}
	delete(of, "")
	said.files[kind] = of
	return of
}

var figuresIn = regexp.MustCompile(`[0-9][0-9.]*`)

// checkSaid compares a text with the stored one. With -update it is stored, but only a test that has none yet may say other numbers: to accept
// these, take the entry out first.
func checkSaid(t *testing.T, kind, text string, row ...string) {
	t.Helper()
	said.Lock()
	defer said.Unlock()
	of := saidOf(t, kind)
	name := strings.Join(append([]string{t.Name()}, row...), "/")
	said.times[kind+name]++
	if n := said.times[kind+name]; n > 1 {
		name += fmt.Sprint(" ", n)
	}
	want, stored := of[name]
	switch {
	case stored && want == text:
		return
	case !*update:
		t.Errorf("it says\n%s\nand %s has\n%s\n(-update stores other words)", text, saidFile(kind), want)
		return
	case stored && !slices.Equal(figuresIn.FindAllString(want, -1), figuresIn.FindAllString(text, -1)):
		t.Errorf("it says\n%s\nwith other numbers than in %s:\n%s", text, saidFile(kind), want)
		return
	}
	of[name] = text
	var b strings.Builder
	for _, name := range slices.Sorted(maps.Keys(of)) {
		b.WriteString("== " + name + "\n" + of[name] + "\n")
	}
	if err := errors.Join(os.MkdirAll(filepath.Dir(saidFile(kind)), 0o755), os.WriteFile(saidFile(kind), []byte(b.String()), 0o644)); err != nil {
		t.Fatal(err)
	}
}
