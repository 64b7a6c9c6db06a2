package workers

import (
	"testing"

	batchv1 "k8s.io/api/batch/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes/fake"

	"github.com/holdfast-ha/holdfast/workloads"
)

// Load workers that a run has left are removed, and a Job of another owner that has their name is not.
func TestRemove(t *testing.T) {
	for name, test := range map[string]struct {
		labels map[string]string
		ours   bool
	}{
		"ours":   {map[string]string{workloads.LabelPartOf: workloads.PartOf, workloads.LabelComponent: workloads.ComponentLoad}, true},
		"theirs": {map[string]string{workloads.LabelPartOf: "shop"}, false},
	} {
		t.Run(name, func(t *testing.T) {
			client := fake.NewClientset(&batchv1.Job{ObjectMeta: metav1.ObjectMeta{Namespace: "holdfast", Name: workloads.LoadName, Labels: test.labels}})
			if left, err := Left(t.Context(), client, "holdfast"); left != test.ours || err != nil {
				t.Errorf("left %t, %v", left, err)
			}
			if err := Remove(t.Context(), client, "holdfast"); err != nil {
				t.Fatal(err)
			}
			deleted := false
			for _, a := range client.Actions() {
				deleted = deleted || a.GetVerb() == "delete"
			}
			if deleted != test.ours {
				t.Errorf("deleted %t", deleted)
			}
			if left, err := Left(t.Context(), client, "holdfast"); left || err != nil {
				t.Errorf("afterwards: left %t, %v", left, err)
			}
		})
	}
}
