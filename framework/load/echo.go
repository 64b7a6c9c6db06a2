package load

import (
	"bytes"
	"fmt"
	"net/http"
	"strconv"

	"github.com/holdfast-ha/holdfast/framework/history"
	"github.com/holdfast-ha/holdfast/workloads/backend"
)

// echoChecker expects the sample backend's answers: the body repeats the request's ID, and the headers name the server.
type echoChecker struct {
	prefix string
	want   []byte
}

func newEchoChecker(l *lane) *echoChecker {
	return &echoChecker{prefix: fmt.Sprintf("ok %s/%s/", l.worker, l.Lane.Lane)}
}

func (c *echoChecker) request(k uint64) (id string) {
	c.want = append(c.want[:0], c.prefix...)
	c.want = strconv.AppendUint(c.want, k, 10)
	id = string(c.want[len("ok "):])
	c.want = append(c.want, '\n')
	return id
}

func (c *echoChecker) goodStatus(status int) bool { return status == http.StatusOK }

func (c *echoChecker) part([]byte) (int, error) { return 0, errLongBody }

func (c *echoChecker) wrong(body []byte) string {
	if bytes.Equal(body, c.want) {
		return ""
	}
	return fmt.Sprintf("want %q, got %.100q", c.want, body)
}

func (c *echoChecker) identify(h http.Header) server { return identity(h) }

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
	if first != nil && first.end() != nil {
		how = errorText(first.end())
	}
	text := fmt.Sprintf("silently sent again by the client library, because its connection ended (%s)", how)
	if pod == "" {
		return text
	}
	return text + "; answered by " + pod
}
