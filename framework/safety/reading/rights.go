package reading

import (
	"errors"
	"maps"
	"slices"

	"github.com/holdfast-ha/holdfast/clusters/existing"
	"github.com/holdfast-ha/holdfast/framework/fault/hold"
	disturb "github.com/holdfast-ha/holdfast/framework/safety"
	"github.com/holdfast-ha/holdfast/framework/safety/catalogue"
)

// rights asks the API server whether the user has each right to inject and to undo. What may be read shows itself.
func (v *reading) rights() {
	all := append(catalogue.Owning(), catalogue.Trying(v.request.Faults)...)
	for _, f := range v.request.Faults {
		all = append(append(all, f.Inject()...), f.Undo()...)
	}
	rights := map[existing.Permission]bool{}
	for _, r := range all {
		for _, namespace := range v.request.Places(r.Where) {
			rights[r.In(namespace)] = true
		}
	}
	missing, err := existing.Missing(v.ctx, v.Client, slices.Collect(maps.Keys(rights))...)
	if err != nil {
		v.refused("rights", "", err)
		return // none counts as asked
	}
	for _, p := range missing {
		rights[p] = false
	}
	v.Rights = rights
}

// holder reads which run uses the cluster.
func (v *reading) holder() {
	err := hold.Check(v.ctx, v.Client, hold.Options{Cluster: v.Server, Foreign: true, Context: v.Context})
	var held *hold.HeldError
	var left *hold.AbandonedError
	switch {
	case errors.As(err, &held), errors.As(err, &left):
		v.Holder = err.Error()
	case err != nil:
		v.Unread = append(v.Unread, disturb.Unread{Resource: "leases", Why: err.Error()})
	}
}
