package app

import (
	"fmt"
	"maps"
	"reflect"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// unserving are the groups of custom resources by which nothing serves, with their kinds; none: all of the group. Other groups have what makes
// Secrets, or pods.
var unserving = map[string][]string{
	"monitoring.coreos.com":        {"ServiceMonitor", "PodMonitor", "Probe", "ScrapeConfig", "PrometheusRule", "AlertmanagerConfig"},
	"operator.victoriametrics.com": {"VMServiceScrape", "VMPodScrape", "VMStaticScrape", "VMProbe", "VMRule"},
	"monitoring.googleapis.com":    {"PodMonitoring", "ClusterPodMonitoring", "Rules", "ClusterRules"},
	"grafana.integreatly.org":      {"GrafanaDashboard", "GrafanaDatasource", "GrafanaFolder", "GrafanaAlertRuleGroup"},
	"integreatly.org":              {"GrafanaDashboard", "GrafanaDataSource", "GrafanaFolder"},
	"datadoghq.com":                nil,
	"velero.io":                    nil,
	"autoscaling.k8s.io":           {"VerticalPodAutoscaler"},
	"kyverno.io":                   nil, "policies.kyverno.io": nil, "templates.gatekeeper.sh": nil, "constraints.gatekeeper.sh": nil,
	"cilium.io":             {"CiliumNetworkPolicy", "CiliumClusterwideNetworkPolicy"},
	"projectcalico.org":     {"NetworkPolicy", "GlobalNetworkPolicy"},
	"crd.projectcalico.org": {"NetworkPolicy", "GlobalNetworkPolicy"},
	"networking.istio.io":   nil, "security.istio.io": nil, "telemetry.istio.io": nil,
	// Fronts and what is told to them: without their controller they lead no request to a Service. Autoscalers: without theirs they scale nothing.
	"gateway.networking.k8s.io": nil,
	"traefik.io":                nil, "traefik.containo.us": nil,
	"projectcontour.io":  {"HTTPProxy", "TLSCertificateDelegation"},
	"route.openshift.io": {"Route"},
	"cloud.google.com":   {"BackendConfig"},
	"networking.gke.io":  {"FrontendConfig", "ManagedCertificate", "HealthCheckPolicy", "GCPBackendPolicy", "GCPGatewayPolicy"},
	"elbv2.k8s.aws":      {"TargetGroupBinding", "IngressClassParams"},
	"externaldns.k8s.io": {"DNSEndpoint"},
	"keda.sh":            {"ScaledObject", "TriggerAuthentication", "ClusterTriggerAuthentication"},
}

// leaveOut takes out the objects of kinds that the user names, and those that nothing serves by, if nothing defines their kind. The notes name them.
func (a *App) leaveOut(manifests []Manifest) (kept []Manifest, err error) {
	left, found := map[string][]string{}, map[string]bool{}
	ofMesh := func(m Manifest) bool { return strings.HasSuffix(m.Object.GroupVersionKind().Group, ".istio.io") }
	meshed := slices.ContainsFunc(manifests, ofMesh) && slices.ContainsFunc(manifests, joinsMesh)
	for _, m := range manifests {
		kind := m.Object.GroupVersionKind().GroupKind()
		why := ""
		if kinds, is := unserving[kind.Group]; is && (kinds == nil || slices.Contains(kinds, kind.Kind)) &&
			!a.MayHave(kind) && (!meshed || !ofMesh(m)) {
			why = "no manifest defines this kind, and no request is answered by it"
		}
		for _, name := range a.without {
			if strings.EqualFold(name, kind.Kind) || strings.EqualFold(name, kind.String()) {
				found[name], why = true, "--without says so"
			}
		}
		switch {
		case why == "":
			kept = append(kept, m)
		case tested(m.Object):
			return nil, fmt.Errorf("--without %s: that is what is tested: leave %s out of the manifests", kind.Kind, m)
		default:
			a.Taken = append(a.Taken, m)
			left[kind.String()+": "+why] = append(left[kind.String()+": "+why], m.Object.GetName())
		}
	}
	for _, name := range a.without {
		if !found[name] {
			return nil, fmt.Errorf("without: no manifest is of kind %s", name)
		}
	}
	for _, what := range slices.Sorted(maps.Keys(left)) {
		kind, why, _ := strings.Cut(what, ": ")
		a.Notes = append(a.Notes, fmt.Sprintf("Left out, and not part of the verdict: %s %s, because %s.", kind, strings.Join(few(left[what]), ", "), why))
	}
	return kept, nil
}

// joinsMesh reports whether pods get a sidecar of Istio, by their own labels and annotations or by those of a namespace: what Istio is told then decides
// how they are reached.
func joinsMesh(m Manifest) bool {
	said := fmt.Sprint(m.Object.Object)
	return slices.ContainsFunc([]string{"istio-injection:enabled", "istio.io/rev:", "sidecar.istio.io/inject:true"}, func(mark string) bool { return strings.Contains(said, mark) })
}

// once returns an error that names both files of each object that is there twice: which is meant is not known. Of two that say the same, one is
// kept; a second workload or Service is an error all the same. A hook may be there for each of its moments.
func once(manifests []Manifest) (kept []Manifest, err error) {
	type key struct {
		schema.GroupKind
		namespace, name string
		before          bool
	}
	first := map[key]Manifest{}
	var twice []string
	for _, m := range manifests {
		k := key{m.Object.GroupVersionKind().GroupKind(), m.Object.GetNamespace(), m.Object.GetName(), m.Before}
		other, is := first[k]
		_, events := hookOf(m)
		switch {
		case len(events) > 0:
			kept = append(kept, m)
		case !is:
			first[k], kept = m, append(kept, m)
		case tested(m.Object) || k.Kind == "Service" || !reflect.DeepEqual(other.Object.Object, m.Object.Object):
			line := ""
			if len(twice) < mostShown {
				line = fmt.Sprintf("%s %s is in %s and in %s", k.Kind, k.name, other.Place("kind"), m.Place("kind"))
			}
			twice = append(twice, line)
		}
	}
	if len(twice) > 0 {
		what := "an object is there twice"
		if len(twice) > 1 {
			what = fmt.Sprintf("%d objects are there twice", len(twice))
		}
		return nil, fmt.Errorf("%s, and which is meant is not known: name one of the files, or, if one is a patch, its kustomization with -k:\n  %s", what, strings.Join(few(twice), "\n  "))
	}
	return kept, nil
}

// nothing is the error for an application without anything that can be tested: it names what is there.
func (a App) nothing() error {
	var near []string
	others := map[string]int{}
	for _, m := range a.All() {
		kind := m.Object.GetKind()
		likely := strings.EqualFold(kind, "Deployment") || strings.EqualFold(kind, "StatefulSet") || strings.EqualFold(kind, "DaemonSet")
		switch {
		case likely && !tested(m.Object):
			near = append(near, fmt.Sprintf("%s %s (%s) is of %s: a Deployment, StatefulSet or DaemonSet of apps/v1 is wanted", kind, m.Object.GetName(), m.Place("apiVersion"), m.Object.GetAPIVersion()))
		case !likely:
			others[m.Object.GroupVersionKind().GroupKind().String()]++
		}
	}
	for _, kind := range slices.Sorted(maps.Keys(others)) {
		near = append(near, fmt.Sprintf("%d %s", others[kind], kind))
	}
	has := ""
	if len(near) > 0 {
		has = ". They have:\n  " + strings.Join(few(near), "\n  ")
	}
	return fmt.Errorf("the manifests have no Deployment, StatefulSet or DaemonSet, so there is nothing to test%s", has)
}
