package doctor

import (
	"errors"
	"strings"
	"testing"
)

func TestPrepareAsRoot(t *testing.T) {
	m, _ := hybrid(t)
	m.put(t, watchesPath, "1000000")
	if err := m.prepare(); err != nil {
		t.Fatal(err)
	}
	if got := m.text(instancesPath); got != "8192" {
		t.Errorf("%s instances, want 8192", got)
	}
	if got := m.text(watchesPath); got != "1000000" {
		t.Errorf("%s watches: a limit that is higher already was changed", got)
	}
	if !m.exists(modulesPath) {
		t.Errorf("%s was not created", modulesPath)
	}
	if got, want := m.note(instancesPath), " (raised from 128 until the next boot)"; got != want {
		t.Errorf("note %q, want %q", got, want)
	}
	if err := m.prepare(); err != nil {
		t.Fatal(err)
	}
	if len(m.prepared) > 0 {
		t.Errorf("the second time it did %v", m.prepared)
	}
}

func TestPrepareWhereSettingsAreReadOnly(t *testing.T) {
	m, _ := hybrid(t)
	m.write = func(string, []byte) error { return errors.New("read-only file system") }
	if err := m.prepare(); err != nil {
		t.Errorf("%v, want none: the limits may suffice", err)
	}
	check := m.inotify(5)
	if want := "128 instances (cannot be raised: read-only file system)"; !strings.HasPrefix(check.Found, want) {
		t.Errorf("found %q, want %q", check.Found, want)
	}
	if check.Status != OK {
		t.Errorf("%s, want ok: 128 are enough for five nodes", check.Status)
	}
	if got := m.inotify(9); got.Status != Fail || got.Remedy != inotifyRemedy {
		t.Errorf("for nine nodes %+v, want a failure and its remedy", got)
	}
}
