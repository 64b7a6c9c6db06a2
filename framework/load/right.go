package load

import (
	"fmt"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// right is the right answer to the requests of a sender.
type right struct {
	prefix string
	want   []byte
}

func newRight(l *lane) right { return right{prefix: fmt.Sprintf("ok %s/%s/", l.worker, l.Lane.Lane)} }

// of names request k and the body it must be answered with.
func (r *right) of(k uint64) (id string) {
	r.want = append(r.want[:0], r.prefix...)
	r.want = strconv.AppendUint(r.want, k, 10)
	id = string(r.want[len("ok "):])
	r.want = append(r.want, '\n')
	return id
}

// got says that another body came.
func (r *right) got(body []byte) string { return fmt.Sprintf("want %q, got %.100q", r.want, body) }

// masked says what a client without a second try would have lost: of the first connection, and by whom it was saved.
func masked(first *conn, pod string) string {
	how := "broke"
	if first != nil && first.end() != nil {
		how = errorText(first.end())
	}
	return fmt.Sprintf("sent again behind the caller's back, because its connection ended (%s); answered by %s", how, pod)
}

// infer takes the server from the connection's last answer.
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
