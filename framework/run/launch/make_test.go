package launch

import (
	"context"
	"errors"
	"testing"

	"github.com/holdfast-ha/holdfast/clusters"
	"github.com/holdfast-ha/holdfast/clusters/clustertest"
	"github.com/holdfast-ha/holdfast/framework/base/errtest"
)

// fresh is a new cluster.
type fresh struct {
	*clustertest.Cluster
	keeps, goes error
	deleted     bool
}

func (f *fresh) Keep() error { return f.keeps }

func (f *fresh) Delete(ctx context.Context) error {
	f.deleted = ctx.Err() == nil
	return f.goes
}

// A new cluster that cannot be kept, also after Ctrl-C, is removed. If that fails, the error says that parts are left.
func TestAClusterThatCannotBeKeptIsRemoved(t *testing.T) {
	full := errors.New("no space left on device")
	for name, test := range map[string]struct {
		keeps, goes error
		want        string
		deleted     bool
	}{
		"kept":        {nil, nil, "", false},
		"not kept":    {full, nil, "no space left on device", true},
		"nor removed": {full, errors.New("the engine does not answer"), "try 'holdfast down demo'", true},
	} {
		t.Run(name, func(t *testing.T) {
			ctx, interrupt := context.WithCancel(t.Context())
			interrupt()
			c := &fresh{Cluster: clustertest.New("demo", clusters.Spec{Zones: []string{"a"}}), keeps: test.keeps, goes: test.goes}
			err := keepNew(ctx, c)
			errtest.Check(t, err, test.want)
			if c.deleted != test.deleted || errors.Is(err, clusters.ErrLeft) != (test.goes != nil) {
				t.Errorf("deleted: %t, %v", c.deleted, err)
			}
		})
	}
}
