//go:build e2e

package plaintest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/holdfast-ha/holdfast/clusters/kind"
	"github.com/holdfast-ha/holdfast/framework/base/poll"
	"github.com/holdfast-ha/holdfast/framework/safety/show"
)

// write is a request that changes something; without a name it is about any object.
type write struct{ verb, group, resource, subresource, namespace, name string }

func of(r request) write {
	o := r.ObjectRef
	return write{r.Verb, o.APIGroup, o.Resource, o.Subresource, o.Namespace, o.Name}
}

// request is a request of eve's in the API server's audit log.
type request struct {
	Verb       string // get, list, watch, create, patch, ...
	RequestURI string
	User       struct{ Username string }
	ObjectRef  struct{ Resource, Subresource, Namespace, Name, APIGroup string }

	ResponseStatus struct{ Code int }
}

func (r request) String() string {
	return fmt.Sprintf("%s %s: %d", r.Verb, r.RequestURI, r.ResponseStatus.Code)
}

// writes reports whether the request changed something, or was meant to. A dry run and a question about the user's own permissions do not.
func (r request) writes() bool {
	return !slices.Contains([]string{"get", "list", "watch"}, r.Verb) && !strings.Contains(r.RequestURI, "dryRun=All") &&
		!strings.HasPrefix(r.ObjectRef.Resource, "selfsubject")
}

// audited are the requests of eve.
func (s *Stage) audited() (all []request) {
	s.T.Helper()
	state, err := kind.StateDir(s.Name())
	if err != nil {
		s.T.Fatal(err)
	}
	log, err := os.ReadFile(filepath.Join(state, "audit", "audit.log"))
	if err != nil {
		s.T.Fatal(err)
	}
	for line := range bytes.Lines(log) {
		var r request
		if err := json.Unmarshal(line, &r); err != nil {
			s.T.Fatal(err)
		}
		if r.User.Username == "eve" {
			all = append(all, r)
		}
	}
	return all
}

// Plan plans with a file until all of it goes: the kubelets list their images once in a while, and budgets follow their pods. What it prints may be
// written from now on.
func (s *Stage) Plan(file string, flags ...string) (d show.Document) {
	s.T.Helper()
	err := poll.Until(s.T.Context(), "a plan of which nothing is refused", 3*time.Minute, func(context.Context) (bool, string, error) {
		text, code := s.Run(append(s.As("plan", file, "-o", "json"), flags...)...)
		if code != 0 && code != 5 {
			return false, "", fmt.Errorf("exit code %d: %s", code, text)
		}
		text = text[:strings.LastIndexByte(text, '}')+1] // behind it is the error, if it is refused
		d = show.Document{}
		if err := json.Unmarshal([]byte(text), &d); err != nil {
			return false, "", err
		}
		return code == 0 && d.Goes, fmt.Sprint(d.Refusals, d.Steps), nil
	})
	if err != nil {
		s.T.Fatal(err)
	}
	for _, step := range d.Steps {
		for _, t := range step.Touches {
			s.planned = append(s.planned, write{t.Verb, t.Group, t.Resource, t.Subresource, t.Object.Namespace, t.Object.Name})
		}
	}
	for _, o := range d.Own {
		s.planned = append(s.planned, write{o.Verb, o.Group, o.Resource, o.Subresource, o.Namespace, ""})
	}
	return d
}

// NothingElse fails if eve has asked for a write that no plan has printed, be it in vain, or has looked at a Secret. Anyone are resources of which
// the objects that are written are not known beforehand, such as the pods of a later plan.
func (s *Stage) NothingElse(anyone ...string) {
	s.T.Helper()
	all := s.audited()
	wrote := map[write]int{}
	for _, r := range all {
		if strings.Contains(r.RequestURI, "/secrets") {
			s.T.Errorf("eve sent %s", r)
		}
		if !r.writes() {
			continue
		}
		w := of(r)
		wrote[w]++
		if !s.mayWrite(w, anyone) {
			s.T.Errorf("no plan has printed this: %s", r)
		}
	}
	s.T.Logf("%d requests of eve, of which %d different ones wrote:", len(all), len(wrote))
	for w, n := range wrote {
		s.T.Logf("%4d %+v", n, w)
	}
}

// mayWrite reports whether a plan has printed a write.
func (s *Stage) mayWrite(w write, anyone []string) bool {
	return slices.ContainsFunc(s.planned, func(p write) bool {
		if p.name == "" || slices.Contains(anyone, p.resource) {
			p.name = w.name
		}
		return p == w
	})
}

// Wrote fails unless each write that a plan has printed for the objects of others was made.
func (s *Stage) Wrote(d show.Document) {
	s.T.Helper()
	all := s.audited()
	for _, step := range d.Steps {
		for _, t := range step.Touches {
			want := write{t.Verb, t.Group, t.Resource, t.Subresource, t.Object.Namespace, t.Object.Name}
			if !slices.ContainsFunc(all, func(r request) bool { return of(r) == want && r.ResponseStatus.Code/100 == 2 }) {
				s.T.Errorf("planned, and not seen in the audit log: %+v", want)
			}
		}
	}
}
