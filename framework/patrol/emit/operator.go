package emit

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// monitoring is the API version of the Prometheus Operator's objects. Their Go types are in a module that nothing else here needs.
const monitoring = "monitoring.coreos.com/v1"

type prometheusRule struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              ruleFile `json:"spec"`
}

func (o Options) prometheusRule() any {
	return &prometheusRule{metav1.TypeMeta{APIVersion: monitoring, Kind: "PrometheusRule"}, o.meta(), o.Alerts.rules()}
}

type serviceMonitor struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata"`
	Spec              serviceMonitorSpec `json:"spec"`
}

type serviceMonitorSpec struct {
	Selector  metav1.LabelSelector `json:"selector"`
	Endpoints []endpoint           `json:"endpoints"`
}

type endpoint struct {
	Port        string `json:"port"`
	Interval    string `json:"interval"`
	HonorLabels bool   `json:"honorLabels"`
}

// serviceMonitor keeps the metrics' own label namespace, which is the workload's. Otherwise it would be the patrol's.
func (o Options) serviceMonitor() any {
	return &serviceMonitor{metav1.TypeMeta{APIVersion: monitoring, Kind: "ServiceMonitor"}, o.meta(), serviceMonitorSpec{
		Selector:  metav1.LabelSelector{MatchLabels: selector()},
		Endpoints: []endpoint{{Port: portName, Interval: "30s", HonorLabels: true}},
	}}
}
