package patrol

import (
	"context"
	"crypto/sha256"
	"fmt"
	"log/slog"
	"strings"
	"sync/atomic"
	"time"
	"unicode/utf8"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clientevents "k8s.io/client-go/kubernetes/typed/events/v1"

	"github.com/holdfast-ha/holdfast/framework/audit"
)

const (
	// remind is how long after it was written an Event is created again. An API server keeps Events for an hour by default, so a finding
	// has one nearly as long as it lasts.
	remind = 10 * time.Minute
	// mostEvents bounds the Events of one round. The others follow in the next ones.
	mostEvents = 100
	// mostNote is the greatest length of an Event's note, in bytes, which the API server enforces.
	mostNote = 1024
)

// Announcer writes Events about findings onto their workloads. The name of an Event says which finding it is about, so that one which is
// still there is refused as a duplicate: nothing has to be read, updated or remembered, and `create` is the only permission needed.
type Announcer struct {
	client           clientevents.EventsV1Interface
	instance         string
	written, refused atomic.Uint64
	last             map[string]time.Time // by the Event's name
}

// NewAnnouncer returns an announcer. The instance names this process in its Events.
func NewAnnouncer(client clientevents.EventsV1Interface, instance string) *Announcer {
	return &Announcer{client: client, instance: instance, last: map[string]time.Time{}}
}

// announce writes an Event for each error and warning that this round has seen, unless it did so a short time ago. It stops at the first
// refusal: the next round tries again.
func (a *Announcer) announce(ctx context.Context, s *state) {
	now, left := s.tried, mostEvents
	current := map[string]time.Time{}
	for _, f := range s.findings {
		uid := s.uids[f.Object()]
		if uid == "" || !f.seen.Equal(s.taken) || !f.Severity.AtLeast(audit.Warning) {
			continue
		}
		name := eventName(f.Finding, uid)
		if last, said := a.last[name]; said && now.Sub(last) < remind {
			current[name] = last
			continue
		}
		if left == 0 {
			continue
		}
		left--
		if err := a.create(ctx, a.event(f.Finding, name, uid, now)); err != nil {
			a.refused.Add(1)
			left = 0
			slog.WarnContext(ctx, "an Event could not be written", "about", f.Object(), "cause", err)
			continue
		}
		current[name] = now
	}
	a.last = current // findings that are gone are forgotten
}

// create counts an Event that is new. One that is still there from before is as good.
func (a *Announcer) create(ctx context.Context, e *eventsv1.Event) error {
	_, err := a.client.Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	if apierrors.IsAlreadyExists(err) {
		return nil
	}
	if err == nil {
		a.written.Add(1)
	}
	return err
}

func (a *Announcer) event(f audit.Finding, name string, uid types.UID, now time.Time) *eventsv1.Event {
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: f.Namespace, Name: name},
		EventTime:  metav1.NewMicroTime(now), Type: corev1.EventTypeWarning, Reason: reasonOf(f.Rule), Action: "Audit",
		Note:                cut(f.Evidence, mostNote),
		ReportingController: "holdfast.dev/patrol", ReportingInstance: cut(a.instance, 128),
		Regarding: corev1.ObjectReference{APIVersion: "apps/v1", Kind: f.Kind, Namespace: f.Namespace, Name: f.Name, UID: uid},
	}
}

// eventName is the same for the same finding. A workload that was deleted and made again has another UID, and so another name.
func eventName(f audit.Finding, uid types.UID) string {
	sum := sha256.Sum256([]byte(string(uid) + " " + f.Rule))
	return fmt.Sprintf("%s.holdfast-%x", cut(f.Name, 200), sum[:6])
}

// reasonOf is a rule's ID in the spelling of an Event's reason: one-node is OneNode.
func reasonOf(rule string) string {
	var reason strings.Builder
	for word := range strings.SplitSeq(rule, "-") {
		reason.WriteString(strings.ToUpper(word[:1]) + word[1:])
	}
	return reason.String()
}

// cut shortens a text to at most some bytes, between two characters.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	for most > 0 && !utf8.RuneStart(text[most]) {
		most--
	}
	return text[:most]
}
