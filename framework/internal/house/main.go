// House holds the tree to its size: it prints a table of rooms, and fails where a room is larger than .github/rooms.txt allows, where an import
// does not go to a lower floor, and where comments have a habit more often than .github/habits.txt allows. `make lint` runs it.
//
//	house            compares
//	house -update    lowers the limits to what there is; it raises none
package main

import (
	"bytes"
	"errors"
	"flag"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strings"
)

const (
	roomsFile  = ".github/rooms.txt"
	habitsFile = ".github/habits.txt"
)

func main() {
	update := flag.Bool("update", false, "lower the limits to what there is")
	flag.Parse()
	if err := run(*update); err != nil {
		_, _ = fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func run(update bool) error {
	module, err := exec.Command("go", "list", "-m").Output()
	if err != nil {
		return err
	}
	names, err := exec.Command("git", "ls-files", "*.go").Output()
	if err != nil {
		return err
	}
	rooms, err := readRooms(roomsFile)
	if err != nil {
		return err
	}
	habits, err := readHabits(habitsFile)
	if err != nil {
		return err
	}
	t := tree{module: strings.TrimSpace(string(module)), rooms: rooms, habits: habits}
	for _, name := range strings.Fields(string(names)) {
		if strings.Contains(name, "/testdata/") {
			continue
		}
		content, err := os.ReadFile(name) // a file of the index that was removed from the tree is left out
		if errors.Is(err, os.ErrNotExist) {
			continue
		}
		if err := errors.Join(err, t.add(name, content)); err != nil {
			return err
		}
	}
	fmt.Print(t.table())
	if update {
		t.lower()
		return errors.Join(os.WriteFile(roomsFile, writeRooms(rooms), 0o644), os.WriteFile(habitsFile, writeHabits(habits), 0o644))
	}
	return t.check()
}

// room is a folder with all that is below it, except for rooms of their own.
type room struct {
	folder    string
	floor     int
	most, has size
	why       string          // the sentence about a limit that was raised
	folders   map[string]bool // with a package
	comments  []string        // lines of the file before the room's own
}

type size struct{ code, tests, packages int }

// habit is a way to write that its readers stumble over, and how often comments may have it.
type habit struct {
	pattern   *regexp.Regexp
	most, has int
}

type tree struct {
	module string
	rooms  []*room
	habits []*habit
	upward []string
	lost   []string // files without a room
}

// add counts a file.
func (t *tree) add(name string, content []byte) error {
	files := token.NewFileSet()
	parsed, err := parser.ParseFile(files, name, content, parser.ParseComments|parser.SkipObjectResolution)
	if err != nil {
		return err
	}
	for _, group := range parsed.Comments {
		for _, h := range t.habits {
			h.has += len(h.pattern.FindAllString(group.Text(), -1))
		}
	}
	here := t.roomOf(path.Dir(name))
	if here == nil {
		t.lost = append(t.lost, name)
		return nil
	}
	lines := linesOf(content)
	if strings.HasSuffix(name, "_test.go") {
		here.has.tests += lines
		return nil
	}
	here.has.code += lines
	here.folders[path.Dir(name)] = true
	here.has.packages = len(here.folders)
	t.upward = append(t.upward, t.upwardOf(name, here, parsed.Imports)...)
	return nil
}

// upwardOf returns the imports of a file that do not go to a lower floor.
func (t *tree) upwardOf(name string, here *room, imports []*ast.ImportSpec) (upward []string) {
	for _, i := range imports {
		folder, ours := strings.CutPrefix(strings.Trim(i.Path.Value, `"`), t.module+"/")
		if !ours {
			continue
		}
		if there := t.roomOf(folder); there != nil && there != here && there.floor >= here.floor {
			upward = append(upward, fmt.Sprintf("%s on floor %d imports %s, which is on floor %d", name, here.floor, folder, there.floor))
		}
	}
	return upward
}

// roomOf returns the room with the longest folder that the folder is in, or nil.
func (t *tree) roomOf(folder string) (found *room) {
	for _, r := range t.rooms {
		if (r.folder == "." && folder == "." || folder == r.folder || strings.HasPrefix(folder, r.folder+"/")) && (found == nil || len(r.folder) > len(found.folder)) {
			found = r
		}
	}
	return found
}

// linesOf counts the lines that are neither blank nor comments of one line.
func linesOf(content []byte) (n int) {
	for line := range bytes.Lines(content) {
		if line := bytes.TrimSpace(line); len(line) > 0 && !bytes.HasPrefix(line, []byte("//")) {
			n++
		}
	}
	return n
}

// table lists what there is, with the limits.
func (t *tree) table() string {
	var b strings.Builder
	var all size
	row := "%-5v %-22s %7v %7v %9v\n"
	fmt.Fprintf(&b, row, "floor", "room", "code", "tests", "packages")
	for _, r := range t.rooms {
		fmt.Fprintf(&b, row, r.floor, r.folder, r.has.code, r.has.tests, r.has.packages)
		all.code, all.tests, all.packages = all.code+r.has.code, all.tests+r.has.tests, all.packages+r.has.packages
	}
	fmt.Fprintf(&b, row, "", fmt.Sprintf("%d rooms", len(t.rooms)), all.code, all.tests, all.packages)
	return b.String()
}

// check is an error that names each limit that is not kept.
func (t *tree) check() error {
	wrong := slices.Concat(t.upward, t.lost)
	for i, name := range t.lost {
		wrong[len(t.upward)+i] = name + " is in no room of " + roomsFile
	}
	for _, r := range t.rooms {
		for _, c := range []struct {
			what      string
			has, most int
		}{{"lines of code", r.has.code, r.most.code}, {"lines of tests", r.has.tests, r.most.tests}, {"packages", r.has.packages, r.most.packages}} {
			if c.has > c.most {
				wrong = append(wrong, fmt.Sprintf("%s has %d %s, and %s allows %d: make something else smaller, or raise the limit with a sentence beside it", r.folder, c.has, c.what, roomsFile, c.most))
			}
		}
	}
	for _, h := range t.habits {
		if h.has > h.most {
			wrong = append(wrong, fmt.Sprintf("comments have %q %d times, and %s allows %d: name the thing, with its verb", h.pattern, h.has, habitsFile, h.most))
		}
	}
	if len(wrong) == 0 {
		return nil
	}
	return errors.New(strings.Join(wrong, "\n"))
}

// lower sets limits to what there is, where that is less.
func (t *tree) lower() {
	for _, r := range t.rooms {
		r.most = size{min(r.most.code, r.has.code), min(r.most.tests, r.has.tests), min(r.most.packages, r.has.packages)}
	}
	for _, h := range t.habits {
		h.most = min(h.most, h.has)
	}
}

func readRooms(name string) (rooms []*room, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	var comments []string
	for line := range strings.Lines(string(content)) {
		line = strings.TrimRight(line, "\n")
		if line == "" || strings.HasPrefix(line, "#") {
			comments = append(comments, line)
			continue
		}
		r := &room{folders: map[string]bool{}, comments: comments}
		limits, why, _ := strings.Cut(line, "#")
		if _, err := fmt.Sscan(limits, &r.floor, &r.folder, &r.most.code, &r.most.tests, &r.most.packages); err != nil {
			return nil, fmt.Errorf("%s: %q: want a floor, a folder, and the most lines of code, lines of tests and packages: %w", name, line, err)
		}
		r.why, comments = strings.TrimSpace(why), nil
		rooms = append(rooms, r)
	}
	return rooms, nil
}

func writeRooms(rooms []*room) []byte {
	var b bytes.Buffer
	for _, r := range rooms {
		for _, c := range r.comments {
			fmt.Fprintln(&b, c)
		}
		line := fmt.Sprintf("%d %-22s %6d %6d %3d", r.floor, r.folder, r.most.code, r.most.tests, r.most.packages)
		if r.why != "" {
			line += " # " + r.why
		}
		fmt.Fprintln(&b, line)
	}
	return b.Bytes()
}

func readHabits(name string) (habits []*habit, err error) {
	content, err := os.ReadFile(name)
	if err != nil {
		return nil, err
	}
	for line := range strings.Lines(string(content)) {
		var h habit
		count, pattern, ok := strings.Cut(strings.TrimSpace(line), " ")
		if _, err := fmt.Sscan(count, &h.most); err != nil || !ok {
			return nil, fmt.Errorf("%s: %q: want the most that there may be, and a regular expression", name, line)
		}
		if h.pattern, err = regexp.Compile(strings.TrimSpace(pattern)); err != nil {
			return nil, fmt.Errorf("%s: %w", name, err)
		}
		habits = append(habits, &h)
	}
	return habits, nil
}

func writeHabits(habits []*habit) []byte {
	var b bytes.Buffer
	for _, h := range habits {
		fmt.Fprintf(&b, "%4d %s\n", h.most, h.pattern)
	}
	return b.Bytes()
}
