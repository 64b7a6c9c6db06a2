package load

import (
	"fmt"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// right makes the expected answers to a sender's requests.
type right struct {
	prefix string
	want   []byte
}

func newRight(l *lane) right { return right{prefix: fmt.Sprintf("ok %s/%s/", l.worker, l.Lane.Lane)} }

// of returns the id of request k, and sets the expected body.
func (r *right) of(k uint64) (id string) {
	r.want = append(r.want[:0], r.prefix...)
	r.want = strconv.AppendUint(r.want, k, 10)
	id = string(r.want[len("ok "):])
	r.want = append(r.want, '\n')
	return id
}

// got describes a body that differs from the expected one.
func (r *right) got(body []byte) string { return fmt.Sprintf("want %q, got %.100q", r.want, body) }

// masked returns the text of a masked request: how its first connection ended, and which pod answered in the end.
func masked(first *conn, pod string) string {
	how := "broke"
	if first != nil && first.end() != nil {
		how = errorText(first.end())
	}
	return fmt.Sprintf("silently sent again by the client library, because its connection ended (%s); answered by %s", how, pod)
}

// infer fills in the server of the connection's last answer, and marks the row as inferred.
func infer(row *history.Request, from *conn) {
	if from == nil {
		return
	}
	if who := from.who.Load(); who != nil && !who.gateway {
		who.fill(row)
		row.Inferred = true
	}
}

func (who server) fill(row *history.Request) {
	row.Pod, row.Node, row.Zone, row.Revision = who.pod, who.node, who.zone, who.revision
}
