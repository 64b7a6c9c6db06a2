package fault

import (
	"strings"
	"testing"
	"testing/synctest"
	"time"

	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
)

// A rollout that cannot come to its end is no error: what it has come to is what is told.
func TestTryRolloutTellsHowFarItCame(t *testing.T) {
	for _, test := range []struct {
		name  string
		stuck bool
		want  string
	}{
		{"it goes through", false, "after 20s the update is at its end: 6 pods exist, 6 of the newest revision"},
		{"a pod finds no place", true, "after 20s the update is not at its end: 6 of 6 pods available; " +
			"its controller has not seen its newest change; 6 pods should exist, and not 7"},
	} {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				w := newWorld(6, "w1", "w2", "w3")
				w.frozen = test.stuck
				if test.stuck {
					surge := &corev1.Pod{}
					surge.Name, surge.Namespace, surge.Labels = "surge", "ns", map[string]string{"app": "backend"}
					surge.Annotations = map[string]string{rolloutAnnotation: "after 7"} // as the new template says
					go func() {
						time.Sleep(5 * time.Second)
						_ = w.client.Tracker().Add(surge)
					}()
				}
				began := time.Now()
				heal, err := inject(t.Context(), TryRollout{For: 20 * time.Second}, w.target())
				if err != nil {
					t.Fatal(err)
				}
				if took := time.Since(began); took < 20*time.Second {
					t.Errorf("it looked after %s", took)
				}
				if len(w.seen) != 1 || !strings.Contains(w.seen[0], test.want) {
					t.Errorf("seen %q, want %q", w.seen, test.want)
				}
				if test.stuck {
					return // as it must not be healed by a world that does nothing
				}
				if err := heal(t.Context()); err != nil || len(w.healed) != 1 || !strings.HasPrefix(w.healed[0], "rolled back: ") {
					t.Errorf("healed %q, %v", w.healed, err)
				}
			})
		})
	}
}

// Without a time, it waits until the rollout has ended, or until Kubernetes says that it never will. Neither is an error, and the rollback follows.
func TestTryRolloutEndsAsSoonAsItIsHopeless(t *testing.T) {
	pending := func(d *appsv1.Deployment) *corev1.Pod {
		d.Status.UpdatedReplicas, d.Status.Replicas = 1, 7
		p := &corev1.Pod{Status: corev1.PodStatus{Phase: corev1.PodPending, Conditions: []corev1.PodCondition{
			{Type: corev1.PodScheduled, Status: corev1.ConditionFalse, Reason: corev1.PodReasonUnschedulable, Message: "0/4 nodes are available"},
		}}}
		p.Annotations = map[string]string{rolloutAnnotation: "after 7"}
		return p
	}
	says := func(kind appsv1.DeploymentConditionType, is corev1.ConditionStatus, reason, message string) func(*appsv1.Deployment) *corev1.Pod {
		return func(d *appsv1.Deployment) *corev1.Pod {
			d.Status.UpdatedReplicas = 0
			d.Status.Conditions = []appsv1.DeploymentCondition{{Type: kind, Status: is, Reason: reason, Message: message}}
			return nil
		}
	}
	for name, test := range map[string]struct {
		controllers func(*appsv1.Deployment) *corev1.Pod // what they do; nil: all that they should
		want        string
		after       time.Duration
	}{
		"it goes through": {nil, "nodes=[] pods=6 6 pods exist, 6 of the newest revision", 0},
		"no node": {pending, "nodes=[] pods=0 no node takes pod surge (FailedScheduling): 0/4 nodes are available; 6 of 6 pods available; " +
			"6 pods should exist, and not 7; 6 should be of the newest revision, and not 1", hopeless},
		"a quota": {says(appsv1.DeploymentReplicaFailure, corev1.ConditionTrue, "FailedCreate", "exceeded quota: team"),
			"nodes=[] pods=0 no further pod is created (FailedCreate): exceeded quota: team; 6 of 6 pods available; " +
				"6 should be of the newest revision, and not 0", hopeless},
		"its deadline": {says(appsv1.DeploymentProgressing, corev1.ConditionFalse, "ProgressDeadlineExceeded", "timed out"),
			"nodes=[] pods=0 ProgressDeadlineExceeded: timed out; 6 of 6 pods available; 6 should be of the newest revision, and not 0", 0},
	} {
		t.Run(name, inBubble(func(t *testing.T) {
			w := newWorld(6, "w1", "w2", "w3")
			if w.frozen = test.controllers != nil; w.frozen {
				time.AfterFunc(time.Second, func() {
					d := w.deployment()
					d.Status.ObservedGeneration = d.Generation
					if p := test.controllers(d); p != nil {
						p.Name, p.Namespace, p.Labels = "surge", "ns", map[string]string{"app": "backend"}
						_ = w.client.Tracker().Add(p)
					}
					_ = w.client.Tracker().Update(deployments, d, "ns")
				})
			}
			began := time.Now()
			heal, err := inject(t.Context(), TryRollout{}, w.target())
			if err != nil || len(w.seen) != 1 || !strings.HasPrefix(w.seen[0], test.want) {
				t.Fatalf("seen %q, %v, want %q", w.seen, err, test.want)
			}
			if took := time.Since(began); took < test.after || took > test.after+15*time.Second {
				t.Errorf("it took %s, want %s", took, test.after)
			}
			if active, saw, err := w.lasting(t.Context()); !active || err != nil {
				t.Errorf("before the undo it is no longer in force: %s, %v", saw, err)
			}
			w.frozen = false
			if err := heal(t.Context()); err != nil || len(w.healed) != 1 || !strings.HasPrefix(w.healed[0], "rolled back: 6 pods exist") {
				t.Errorf("healed %q, %v", w.healed, err)
			}
		}))
	}
}

// A rollback that does not end is an error, which says why, and not after ten minutes.
func TestARollbackThatDoesNotEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		w := newWorld(6, "w1", "w2", "w3")
		heal, err := inject(t.Context(), TryRollout{}, w.target())
		if err != nil {
			t.Fatal(err)
		}
		w.frozen = true
		time.AfterFunc(time.Second, func() {
			d := w.deployment()
			d.Status = appsv1.DeploymentStatus{ObservedGeneration: d.Generation, Replicas: 6, Conditions: []appsv1.DeploymentCondition{
				{Type: appsv1.DeploymentReplicaFailure, Status: corev1.ConditionTrue, Message: "failed calling webhook"},
			}}
			_ = w.client.Tracker().Update(deployments, d, "ns")
		})
		began := time.Now()
		err = heal(t.Context())
		const want = "roll backend back: it does not come to its end: no further pod is created (FailedCreate): failed calling webhook; 0 of 6 pods available"
		if err == nil || !strings.HasPrefix(err.Error(), want) || time.Since(began) > 2*time.Minute {
			t.Errorf("got %v after %s", err, time.Since(began))
		}
	})
}
