package injecting

import (
	"testing"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// notebook is a record in memory.
type notebook struct{ events []history.Event }

func (b *notebook) Now() history.Offset { return 0 }

func (b *notebook) Append(e history.Event) error {
	b.events = append(b.events, e)
	return nil
}

// A fault does not know its number: who writes down how the API server was reached adds it.
func TestReachedIsNumbered(t *testing.T) {
	book := &notebook{}
	(&marker{sequence: &Sequence{Record: book}, id: 2}).Note(history.Event{Reach: &history.Reach{Way: history.Direct, Host: "cp2", Asked: 7}})
	want := history.Reach{Fault: 2, Way: history.Direct, Host: "cp2", Asked: 7}
	if len(book.events) != 1 || book.events[0].Reach == nil || *book.events[0].Reach != want {
		t.Errorf("got %+v, want %+v", book.events, want)
	}
}
