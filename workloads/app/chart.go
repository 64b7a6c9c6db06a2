package app

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	utilyaml "k8s.io/apimachinery/pkg/util/yaml"

	"github.com/holdfast-ha/holdfast/workloads/chart"
)

// Stage is when an object is created. A test installs a chart into a new namespace, as `helm install` does.
type Stage int

// The stages, in their order.
const (
	// First are all objects that are not of a chart, such as the Secrets that it needs, and the kinds that it brings.
	First Stage = iota
	BeforeInstall
	Install
	AfterInstall
	// Never are hooks of upgrades, rollbacks, deletions and tests.
	Never
)

// IsHook reports whether the object is a hook, which has to be done before the next stage begins.
func (m Manifest) IsHook() bool { return m.Stage == BeforeInstall || m.Stage == AfterInstall }

// Hook is what its annotations say.
func (m Manifest) Hook() chart.Hook {
	h, _ := chart.HookOf(&m.Object)
	return h
}

// inOrder compares two objects by the order of their creation: hooks as Helm orders them, and others by their kinds.
func inOrder(x, y Manifest) int {
	if c := cmp.Compare(x.Stage, y.Stage); c != 0 || !x.IsHook() {
		return cmp.Or(c, cmp.Compare(rank(x.Object), rank(y.Object)))
	}
	return cmp.Or(cmp.Compare(x.Hook().Weight, y.Hook().Weight), cmp.Compare(x.Object.GetName(), y.Object.GetName()))
}

// stages are the stages of an object of a chart. A hook may run twice.
func stages(m Manifest) (all []Stage) {
	hook, is := chart.HookOf(&m.Object)
	switch {
	case !is && m.Object.GetKind() == "CustomResourceDefinition":
		return []Stage{First}
	case !is:
		return []Stage{Install}
	}
	if hook.RunsAt(chart.PreInstall) {
		all = append(all, BeforeInstall)
	}
	if hook.RunsAt(chart.PostInstall) {
		all = append(all, AfterInstall)
	}
	if len(all) == 0 {
		return []Stage{Never}
	}
	return all
}

// rendered is a chart as Helm rendered it.
type rendered struct {
	digest string
	text   []byte
}

// Render renders the chart, if one is named.
func (s *Sources) Render(ctx context.Context) error {
	if err := s.Chart.Check(); err != nil || s.Chart.Path == "" {
		return err
	}
	s.Chart.Namespace = cmp.Or(s.Chart.Namespace, DefaultNamespace)
	if s.Helm == nil {
		s.Helm = &chart.Helm{}
	}
	helm, err := s.Helm.Path(ctx)
	if err != nil {
		return err
	}
	digest, err := s.Chart.Digest()
	if err != nil {
		return err
	}
	text, err := chart.Render(ctx, s.Chart, helm)
	if err != nil {
		return err
	}
	s.rendered = &rendered{digest, text}
	return nil
}

// charted are the objects of the rendered chart.
func (s Sources) charted() (all []Manifest, err error) {
	if s.Chart.Path == "" {
		return nil, nil
	}
	if s.rendered == nil {
		return nil, fmt.Errorf("read manifests: chart %s was not rendered", s.Chart.Path)
	}
	source := s.Chart.Path
	documents := utilyaml.NewYAMLReader(bufio.NewReader(bytes.NewReader(s.rendered.text)))
	for {
		document, err := documents.Read()
		if errors.Is(err, io.EOF) {
			return all, nil
		}
		if err != nil {
			return nil, fmt.Errorf("read chart %s: %w", s.Chart.Path, err)
		}
		if said := sourceLine.FindSubmatch(document); said != nil { // the next document of the same file has none
			source = templateOf(s.Chart, string(said[1]))
		}
		if empty.Match(document) {
			continue
		}
		list, err := decode(builder().Stream(bytes.NewReader(document), source))
		if err != nil {
			return nil, err
		}
		for _, m := range list {
			m.Source, m.Chart = source, s.rendered.digest
			for _, m.Stage = range stages(m) {
				all = append(all, m)
			}
		}
	}
}

var (
	// sourceLine is how Helm names the template of a document.
	sourceLine = regexp.MustCompile(`(?m)^# Source: [^/\n]+/(.+)$`)
	// empty is a document without an object.
	empty = regexp.MustCompile(`^(\s*(#.*)?(\n|$)|---\s*(\n|$))*$`)
)

// templateOf is where a template is: a file of the chart's folder, or a file in its archive.
func templateOf(c chart.Chart, inside string) string {
	inside = strings.TrimSpace(inside)
	if info, err := os.Stat(c.Path); err == nil && !info.IsDir() {
		return c.Path + ": " + inside
	}
	return filepath.Join(c.Path, inside)
}

// At are the objects of a stage, in their order.
func (a App) At(stage Stage) (list []Manifest) {
	for _, m := range a.Manifests {
		if m.Stage == stage {
			list = append(list, m)
		}
	}
	return list
}
