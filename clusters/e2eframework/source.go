package e2eframework

import (
	"context"
	"fmt"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/engine"
	"github.com/holdfast-ha/holdfast/clusters/kind"
)

// kindSource creates real kind clusters.
type kindSource struct {
	engine *engine.Engine // nil until find has run
}

func (s *kindSource) find(ctx context.Context) (*engine.Engine, error) {
	if s.engine == nil {
		found, err := engine.Find(ctx, engine.Options{})
		if err != nil {
			return nil, err
		}
		s.engine = found
	}
	return s.engine, nil
}

func (s *kindSource) create(ctx context.Context, name string, spec clusters.Spec) (cluster, error) {
	e, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	if _, err := kind.New(e, kind.Options{}).Create(ctx, name, spec); err != nil {
		return nil, err
	}
	return kind.Open(ctx, e, name, kind.Options{})
}

func (s *kindSource) open(ctx context.Context, name string) (cluster, error) {
	e, err := s.find(ctx)
	if err != nil {
		return nil, err
	}
	opened, err := kind.Open(ctx, e, name, kind.Options{})
	if err != nil {
		return nil, err // not a nil *kind.Cluster in an interface
	}
	return opened, nil
}

func (s *kindSource) saveImage(ctx context.Context, image, path string) error {
	e, err := s.find(ctx)
	if err != nil {
		return err
	}
	args := []string{"save", "--output", path, image}
	if e.Name() == engine.Podman {
		args = []string{"save", "--format", "docker-archive", "--output", path, image}
	}
	if _, err := e.Output(ctx, args...); err != nil {
		return fmt.Errorf("export from %s: %w", e.Name(), err)
	}
	return nil
}
