package audit

import (
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// Step is one change of a fix, both as a command to type and as data to apply.
type Step struct {
	// Command is for a POSIX shell.
	Command string `json:"command"`
	Do      Verb   `json:"do"`
	Target  Target `json:"target"`
	// PatchType is the type of Body if Do is Patch: kubectl's --type.
	PatchType PatchType `json:"patchType,omitempty"`
	// Body is the patch, or the object to create.
	Body json.RawMessage `json:"body,omitempty"`
}

// Verb is what a step does.
type Verb string

// The verbs.
const (
	Patch   Verb = "patch"
	Create  Verb = "create"
	Delete  Verb = "delete"
	Restart Verb = "restart" // replace a workload's pods, as its update strategy says
)

// PatchType is a kind of patch, in kubectl's words.
type PatchType string

// The types of patches that are used. A JSON patch tests what it is about to change, so that it cannot change an entry of a
// list that was modified since it was read.
const (
	JSONPatch      PatchType = "json"
	StrategicPatch PatchType = "strategic"
	MergePatch     PatchType = "merge"
)

// Target is the object that a step changes.
type Target struct {
	Kind      string `json:"kind"`
	Namespace string `json:"namespace"`
	Name      string `json:"name"`
}

// object is short for a JSON object.
type object = map[string]any

// op is one operation of a JSON patch.
type op struct {
	Op    string `json:"op"`
	Path  string `json:"path"`
	Value any    `json:"value,omitempty"`
}

func (v *view) patch(at Target, how PatchType, change any) Step {
	body := encode(change)
	return Step{
		Do: Patch, Target: at, PatchType: how, Body: body,
		Command: fmt.Sprintf("%s patch %s %s --namespace %s --type %s --patch %s",
			v.kubectl, Word(strings.ToLower(at.Kind)), Word(at.Name), Word(at.Namespace), how, Quote(string(body))),
	}
}

func (v *view) create(at Target, manifest any) Step {
	body := encode(manifest)
	return Step{
		Do: Create, Target: at, Body: body,
		Command: fmt.Sprintf("printf %%s %s | %s create --filename -", Quote(string(body)), v.kubectl),
	}
}

func (v *view) remove(at Target) Step {
	return Step{
		Do: Delete, Target: at,
		Command: fmt.Sprintf("%s delete %s %s --namespace %s", v.kubectl, Word(strings.ToLower(at.Kind)), Word(at.Name), Word(at.Namespace)),
	}
}

// target is the subject itself.
func (s *subject) target() Target {
	return Target{Kind: s.Kind, Namespace: s.Namespace, Name: s.Name}
}

// patchOps patches the subject. Without operations it returns no step.
func (s *subject) patchOps(ops []op) []Step {
	if len(ops) == 0 {
		return nil
	}
	return []Step{s.patch(s.target(), JSONPatch, ops)}
}

// patchPod merges a change into the subject's pod template.
func (s *subject) patchPod(podSpec object) []Step {
	return []Step{s.patch(s.target(), StrategicPatch, object{"spec": object{"template": object{"spec": podSpec}}})}
}

// restart replaces the subject's pods.
func (s *subject) restart() Step {
	return Step{
		Do: Restart, Target: s.target(),
		Command: fmt.Sprintf("%s rollout restart %s/%s --namespace %s", s.kubectl, Word(strings.ToLower(s.Kind)), Word(s.Name), Word(s.Namespace)),
	}
}

// encode encodes as the API server does, escapes included, because a JSON patch's test compares the encoded text. The values
// are maps and API types, whose encoding cannot fail.
func encode(v any) json.RawMessage {
	text, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return text
}

// Quote quotes a word for a POSIX shell.
func Quote(s string) string { return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'" }

var unquoted = regexp.MustCompile(`^[A-Za-z0-9_@%+=:,./-]+$`)

// Word is a word of a command for a POSIX shell, in quotes where it needs them.
func Word(s string) string {
	if unquoted.MatchString(s) {
		return s
	}
	return Quote(s)
}

// sentences joins the cautions that are not empty.
func sentences(parts ...string) string {
	return strings.Join(slices.DeleteFunc(parts, func(p string) bool { return p == "" }), "; ")
}
