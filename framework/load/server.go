package load

import (
	"fmt"
	"net/http"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/framework/load/outcome"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// identity reads the server's identity from its headers. Their names are canonical, so Header.Get's conversion would be wasted.
func identity(h http.Header) server {
	return server{
		pod: header(h, backend.HeaderPod), node: header(h, backend.HeaderNode), zone: header(h, backend.HeaderZone),
		revision: header(h, backend.HeaderRevision),
	}
}

// header returns a header by its canonical name.
func header(h http.Header, name string) string {
	if values := h[name]; len(values) > 0 {
		return values[0]
	}
	return ""
}

// server identifies the server that answered, according to its answer.
type server struct {
	pod, node, zone, revision string
	// gateway is true when the answer came through one: the connection then does not identify the pod behind it.
	gateway bool
}

func (s server) fill(row *history.Request) {
	row.Pod, row.Node, row.Zone, row.Revision = s.pod, s.node, s.zone, s.revision
}

// infer fills in the server of the connection's last answer, and marks the row as inferred.
func infer(row *history.Request, from *conn) {
	if from == nil {
		return
	}
	if s := from.server.Load(); s != nil && !s.gateway {
		s.fill(row)
		row.Inferred = true
	}
}

// masked returns the text of a masked request: how its first connection ended, and which pod answered in the end.
func masked(first *conn, pod string) string {
	how := "broke"
	if first != nil && first.Broke() != nil {
		how = outcome.Text(first.Broke())
	}
	text := fmt.Sprintf("silently sent again by the client library, because its connection ended (%s)", how)
	if pod == "" {
		return text
	}
	return text + "; answered by " + pod
}
