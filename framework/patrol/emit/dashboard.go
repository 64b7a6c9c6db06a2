package emit

import (
	_ "embed"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

//go:embed dashboard.json
var dashboard []byte

// Dashboard returns a dashboard for Grafana, as JSON.
func Dashboard() []byte { return dashboard }

// dashboard is the ConfigMap that the sidecar of Grafana's chart loads by its label.
func (o Options) dashboard() any {
	meta := o.meta()
	meta.Name += "-dashboard"
	meta.Labels["grafana_dashboard"] = "1"
	return &corev1.ConfigMap{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "ConfigMap"}, ObjectMeta: meta, Data: map[string]string{name + ".json": string(dashboard)},
	}
}
