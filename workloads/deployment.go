package workloads

import (
	"errors"
	"fmt"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"
)

// Strategy of a rolling update; the values are numbers or percentages.
type Strategy struct {
	MaxSurge       string `json:"maxSurge,omitempty"`       // default 25%
	MaxUnavailable string `json:"maxUnavailable,omitempty"` // default 0
}

func (s Strategy) validate() error {
	for _, one := range []string{s.MaxSurge, s.MaxUnavailable} {
		if err := validateShare(one); err != nil {
			return fmt.Errorf("strategy: %w", err)
		}
	}
	if isZero(s.MaxSurge) && isZero(s.MaxUnavailable) {
		return errors.New("strategy: maxSurge and maxUnavailable are both zero, so no pod could ever be replaced")
	}
	return nil
}

func isZero(share string) bool { return share == "0" || share == "0%" }

func deployment(meta metav1.ObjectMeta, replicas int32, s Strategy, template corev1.PodTemplateSpec) *appsv1.Deployment {
	return &appsv1.Deployment{
		TypeMeta: metav1.TypeMeta{APIVersion: "apps/v1", Kind: "Deployment"}, ObjectMeta: meta,
		Spec: appsv1.DeploymentSpec{
			Replicas: &replicas, Selector: selector(meta.Name), Template: template,
			Strategy: appsv1.DeploymentStrategy{
				Type: appsv1.RollingUpdateDeploymentStrategyType,
				RollingUpdate: &appsv1.RollingUpdateDeployment{
					MaxSurge: share(s.MaxSurge), MaxUnavailable: share(s.MaxUnavailable),
				},
			},
		},
	}
}

// service selects the pods with meta's name. If nodePort is not 0, every node offers it on that port. With local, a node
// forwards connections to that port only to its own pods.
func service(meta metav1.ObjectMeta, nodePort int32, local bool) *corev1.Service {
	s := &corev1.Service{
		TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Service"}, ObjectMeta: meta,
		Spec: corev1.ServiceSpec{
			Selector: selector(meta.Name).MatchLabels,
			Ports: []corev1.ServicePort{{
				Name: portName, Port: ServicePort, TargetPort: intstr.FromString(portName), NodePort: nodePort,
				Protocol: corev1.ProtocolTCP,
			}},
		},
	}
	if nodePort != 0 {
		s.Spec.Type = corev1.ServiceTypeNodePort
		if local {
			s.Spec.ExternalTrafficPolicy = corev1.ServiceExternalTrafficPolicyLocal
		}
	}
	return s
}
