package app

import (
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
)

// kustomization builds a kustomization, as `kubectl apply -k` does.
func (r *reader) kustomization(folder string) {
	options := krusty.MakeDefaultOptions()
	options.Reorder = krusty.ReorderOptionLegacy
	built, err := krusty.MakeKustomizer(options).Run(filesys.MakeFsOnDisk(), folder)
	if err != nil {
		r.says("build the kustomization in "+folder+": ", "%s", causeOfKustomize(err.Error(), folder))
		return
	}
	text, err := built.AsYaml()
	r.text(folder, text, err)
}
