package emit

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation"

	"github.com/holdfast-ha/holdfast/framework/audit"
	"github.com/holdfast-ha/holdfast/framework/patrol"
	"github.com/holdfast-ha/holdfast/workloads"
)

// Namespace is the default of Options.Namespace.
const Namespace = "holdfast-patrol"

// Names of what is made.
const (
	name      = "holdfast-patrol"
	component = "patrol"
	portName  = "http"
	port      = 9090
)

// Options of the manifests.
type Options struct {
	// Namespace is the one that the patrol runs in. It is among the manifests.
	Namespace string
	// Image has holdfast as its entry point.
	Image string
	// Scope is what the patrol reads, and so what its role allows.
	Scope audit.Scope
	// Every is the time between two rounds.
	Every time.Duration
	// Events makes the patrol write Events, and allows it to.
	Events bool
	// MostSeries bounds its series with labels of workloads.
	MostSeries int
	// Plain leaves out the objects of the Prometheus Operator.
	Plain  bool
	Alerts Alerts
}

func (o Options) validate() error {
	if o.Image == "" {
		return errors.New("--image: name the image that has holdfast as its entry point")
	}
	for _, namespace := range append([]string{o.Namespace}, o.Scope.Namespaces...) {
		if wrong := validation.IsDNS1123Label(namespace); len(wrong) > 0 {
			return fmt.Errorf("namespace %q: %s", namespace, wrong[0])
		}
	}
	return o.Alerts.Validate()
}

// args is the patrol's command line.
func (o Options) args() []string {
	args := []string{"audit", fmt.Sprintf("--serve=:%d", port)}
	for _, namespace := range o.Scope.Namespaces {
		args = append(args, "--namespace="+namespace)
	}
	if o.Scope.System {
		args = append(args, "--system")
	}
	for _, rule := range o.Scope.Skip {
		args = append(args, "--skip="+rule)
	}
	if o.Every != patrol.Every {
		args = append(args, "--interval="+o.Every.String())
	}
	if o.MostSeries != patrol.MostSeries {
		args = append(args, fmt.Sprintf("--max-series=%d", o.MostSeries))
	}
	if o.Events {
		args = append(args, "--events")
	}
	return args
}

// Patrol returns everything that runs the patrol, as one YAML stream for kubectl apply.
func Patrol(o Options) ([]byte, error) {
	if err := o.validate(); err != nil {
		return nil, err
	}
	objects := slices.Concat([]any{workloads.Namespace(o.Namespace), o.account()}, o.roles(), []any{o.deployment(), o.service(), o.dashboard()})
	if !o.Plain {
		objects = append(objects, o.serviceMonitor(), o.prometheusRule())
	}
	return audit.Documents(objects...)
}

func labels() map[string]string {
	return map[string]string{workloads.LabelName: name, workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: component}
}

func selector() map[string]string { return map[string]string{workloads.LabelName: name} }

// meta is the metadata of an object in the patrol's namespace.
func (o Options) meta() metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: o.Namespace, Name: name, Labels: labels()}
}

// wide is the metadata of a cluster-scoped object. Its name has the namespace's in it, so that two patrols do not share a role.
func (o Options) wide() metav1.ObjectMeta {
	meta := o.meta()
	meta.Namespace, meta.Name = "", strings.TrimSuffix(name+"-"+strings.TrimPrefix(o.Namespace, name), "-")
	return meta
}
