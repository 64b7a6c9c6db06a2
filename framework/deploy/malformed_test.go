package deploy_test

import (
	"errors"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	appsv1 "k8s.io/api/apps/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/client-go/applyconfigurations"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/yaml"

	"github.com/holdfast-ha/holdfast/framework/deploy"
)

type noDefaults struct{}

func (noDefaults) Default(runtime.Object) {}

// The API server's own code says that an object is malformed, with an error that has no reason. It is not sent again and again.
func TestMalformedObjectsAreRefusedAtOnce(t *testing.T) {
	kind := appsv1.SchemeGroupVersion.WithKind("Deployment")
	manager, err := managedfields.NewDefaultFieldManager(applyconfigurations.NewTypeConverter(scheme.Scheme), scheme.Scheme, noDefaults{}, scheme.Scheme, kind, kind.GroupVersion(), "", nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, spec := range []string{"{minReadySecond: 3}", "{replicas: three}", "{template: {spec: {containers: [{name: web, env: [{name: A}, {name: A}]}]}}}"} {
		o := &unstructured.Unstructured{}
		if err := yaml.Unmarshal([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: web}\nspec: "+spec), &o.Object); err != nil {
			t.Fatal(err)
		}
		_, err := manager.Apply(&appsv1.Deployment{}, o, deploy.FieldManager, true)
		if err == nil {
			t.Fatalf("%s is applied", spec)
		}
		answer := &apierrors.StatusError{ErrStatus: metav1.Status{Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Message: err.Error()}}
		synctest.Test(t, func(t *testing.T) {
			c := newCluster(nil)
			c.asked(t, map[string][]error{"web": {answer}})
			d, _ := c.deployment(t, operator, "") // which may complete what is not valid, and not this
			_, err := d.Check(t.Context())
			if refused := (*deploy.RefusedError)(nil); !errors.As(err, &refused) || !strings.Contains(refused.Lines[0], answer.Error()) {
				t.Errorf("%s: %v", spec, err)
			}
		})
	}
}
