package history

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEventsThatTakeTooMuchMemoryAreNotRead: some bytes of a compressed file can be any number of events, and a line can be an event that takes much more
// memory than its text.
func TestEventsThatTakeTooMuchMemoryAreNotRead(t *testing.T) {
	const most, header = 64 << 10, `{"t":0,"header":{"format":1}}` + "\n"
	small := strings.Repeat(`{"t":1,"pod":{}}`+"\n", 10_000)
	large := strings.Repeat(`{"t":1,"trouble":{"what":"`+strings.Repeat("x", 10_000)+`"}}`+"\n", 100)
	dir := t.TempDir()
	name := filepath.Join(dir, closedEvents(0))
	must(t, os.MkdirAll(filepath.Dir(name), 0o755))
	must(t, os.WriteFile(name, []byte(header+small), 0o600))
	must(t, packFile(name))
	for what, read := range map[string]func(*eventLog) error{
		"small events": func(l *eventLog) error { return l.read(strings.NewReader(header + small)) },
		"large events": func(l *eventLog) error { return l.read(strings.NewReader(header + large)) },
		"compressed events": func(l *eventLog) error {
			if l.readClosed(os.DirFS(dir), dir, 0) {
				t.Error("the file was read whole")
			}
			return nil
		},
	} {
		l := &eventLog{name: EventsFile, room: room{Most: most}}
		must(t, read(l))
		text := 0
		for _, e := range l.events {
			if text += besideText; e.Trouble != nil {
				text += len(e.Trouble.What)
			}
		}
		if problems := strings.Join(l.problems, "\n"); len(l.events) < 2 || text > most || !strings.Contains(problems, "does not fit") {
			t.Errorf("%s: %d of them, %d bytes, are kept: %s", what, len(l.events), text, problems)
		}
	}
	all := &eventLog{name: EventsFile, room: room{Most: 64 << 20}}
	must(t, all.read(strings.NewReader(header+small)))
	if len(all.events) != 10_001 {
		t.Errorf("%d events of 10,001 where there is room for them", len(all.events))
	}
}
