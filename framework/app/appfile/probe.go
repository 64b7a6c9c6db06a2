package appfile

import (
	"fmt"
	"time"

	"go.yaml.in/yaml/v3"

	"github.com/holdfast-ha/holdfast/framework/app/apptest"
	"github.com/holdfast-ha/holdfast/framework/load"
	"github.com/holdfast-ha/holdfast/framework/load/request"
	"github.com/holdfast-ha/holdfast/workloads/expect"
)

// Expect is the good answer.
type Expect struct {
	Status   []Status      `yaml:"status"`   // HTTP statuses of a good answer; default: 200; with call: statuses of gRPC; default: OK
	Contains string        `yaml:"contains"` // a text in the body; with call: in the answer as JSON without spaces
	JSON     *JSON         `yaml:"json"`     // a value in a body of JSON; with call: in the answer as JSON
	Like     Like          `yaml:"like"`     // before: during a voluntary disruption no answer has a status or a length as none before it had; where many lengths came before, that is unknown; not for tcp; default: such answers are shown
	Within   time.Duration `yaml:"within"`   // from the sending of the request to the end of the answer, at most 10m; an answer that comes later is late, and fails
}

// Rate is in requests a second, above 0 and at most load.MaxRate.
type Rate float64

// valid reports whether a node is such a rate, or none.
func (r Rate) valid(n *yaml.Node) bool {
	return n.Tag == "!!null" || n.Decode(&r) == nil && r > 0 && r <= load.MaxRate
}

// Like says that answers are to be like those before the disruption.
type Like bool

// UnmarshalYAML reads the only value that there is.
func (l *Like) UnmarshalYAML(n *yaml.Node) error {
	if *l = n.Value == "before"; !*l {
		return fmt.Errorf("line %d, column %d: like %q: want before", n.Line, n.Column, n.Value)
	}
	return nil
}

// JSON is a value in a body of JSON.
type JSON struct {
	Path   string  `yaml:"path"`   // where the value is, as 'kubectl get -o jsonpath' has it, such as {.items[0].id}
	Equals *string `yaml:"equals"` // the value, as 'kubectl get -o jsonpath' prints it; default: any
}

// Idle is a duration that is longer than nothing and at most load.MaxIdle.
type Idle struct{ time.Duration }

// wantedIdle says what the value is.
const wantedIdle = "a duration such as 5s, above 0s and at most 1m"

// UnmarshalYAML reads a duration.
func (i *Idle) UnmarshalYAML(n *yaml.Node) (err error) {
	if i.Duration, err = time.ParseDuration(n.Value); err != nil || i.Duration <= 0 || i.Duration > load.MaxIdle {
		return fmt.Errorf("line %d, column %d: idle %q: want %s", n.Line, n.Column, n.Value, wantedIdle)
	}
	return nil
}

// Header is a header of a request: a text, or where the text is.
type Header struct {
	text       string
	FromSecret string `yaml:"fromSecret"` // NAME/KEY of a Secret in the namespace of the application; only the load worker in the cluster reads it
}

// UnmarshalYAML reads a text, or a mapping with fromSecret.
func (h *Header) UnmarshalYAML(n *yaml.Node) error {
	if n.Kind == yaml.ScalarNode {
		return n.Decode(&h.text)
	}
	type fields Header // without this method
	if err := n.Decode((*fields)(h)); err != nil {
		return err
	}
	if _, err := request.ParseSecretKey(h.FromSecret); err != nil {
		at := n
		if len(n.Content) > 0 {
			at = n.Content[len(n.Content)-1]
		}
		return fmt.Errorf("line %d, column %d: fromSecret: %w", at.Line, at.Column, err)
	}
	return nil
}

// texts are the headers whose values stand in the file.
func texts(headers map[string]Header) map[string]string {
	var all map[string]string
	for name, h := range headers {
		if h.FromSecret != "" {
			continue
		}
		if all == nil {
			all = map[string]string{}
		}
		all[name] = h.text
	}
	return all
}

// secrets adds the headers whose values are in Secrets.
func (p Probe) secrets(made *apptest.Probe) error {
	for name, h := range p.Headers {
		if h.FromSecret == "" {
			continue
		}
		from, err := request.ParseSecretKey(h.FromSecret)
		if err != nil {
			return fmt.Errorf("probe %s: header %s: %w", made.Name, name, err)
		}
		if made.Request.FromSecret == nil {
			made.Request.FromSecret = map[string]request.SecretKey{}
		}
		made.Request.FromSecret[name] = from
	}
	return nil
}

func (e Expect) zero() bool { return e.Contains == "" && e.textOnly() }

// textOnly reports whether nothing but a text is expected.
func (e Expect) textOnly() bool {
	return len(e.Status) == 0 && e.JSON == nil && e.Within == 0 && !bool(e.Like)
}

// answer is the expected answer to requests over HTTP, or to gRPC calls.
func (e Expect) answer(ofCall bool) (expect.Answer, error) {
	a := expect.Answer{Contains: e.Contains, Within: e.Within}
	for _, s := range e.Status {
		switch {
		case ofCall == (s.code == ""):
			return a, fmt.Errorf("line %d, column %d: status %s: want one of %s", s.line, s.column, s, map[bool]string{true: "gRPC, such as OK", false: "HTTP, such as 200"}[ofCall])
		case ofCall:
			a.Codes = append(a.Codes, s.code)
		default:
			a.Status = append(a.Status, s.http)
		}
	}
	if e.JSON != nil {
		a.JSON = &expect.JSON{Path: e.JSON.Path, Equals: e.JSON.Equals}
	}
	return a, nil
}
