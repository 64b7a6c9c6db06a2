package audit

import (
	"fmt"
	"regexp"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
)

var shortGracePeriod = Rule{
	ID: "short-grace-period", Severity: Warning,
	Title: "the grace period ends before the preStop hook does",
	Why: "The grace period begins when a pod is deleted, and includes preStop. If preStop uses it up, the server is killed two " +
		"seconds after SIGTERM, and the requests in flight fail. Only hooks that sleep are judged: the duration of others is unknown.",
	Doc: docTermination, check: checkShortGracePeriod,
}

func checkShortGracePeriod(s *subject) {
	var longest int64
	var name string
	for _, c := range running(s.Template.Spec) {
		if seconds := sleeps(c.Container); seconds > longest {
			longest, name = seconds, c.Name
		}
	}
	if longest == 0 || s.grace() > longest {
		return
	}
	s.find(Finding{
		Evidence: fmt.Sprintf("container %s sleeps %d s in preStop, and terminationGracePeriodSeconds is %d", name, longest, s.grace()),
		Fix:      s.patchPod(object{"terminationGracePeriodSeconds": longest + finishSeconds}),
		Caution:  s.rollout(),
	})
}

// sleepCommand finds the seconds in `sleep 15`, also within a shell's command line. It ignores minutes, fractions and
// variables.
var sleepCommand = regexp.MustCompile(`(?:^|[\s;&/])sleep\s+(\d+)s?(?:$|[\s;&])`)

// sleeps returns how many seconds a container's preStop hook sleeps at least; 0 if it has none, or does something else.
func sleeps(c *corev1.Container) int64 {
	if c.Lifecycle == nil || c.Lifecycle.PreStop == nil {
		return 0
	}
	hook := c.Lifecycle.PreStop
	switch {
	case hook.Sleep != nil:
		return hook.Sleep.Seconds
	case hook.Exec != nil:
		var longest int64 // of several, not the sum: they may be on different branches
		for _, found := range sleepCommand.FindAllStringSubmatch(strings.Join(hook.Exec.Command, " "), -1) {
			if seconds, err := strconv.ParseInt(found[1], 10, 32); err == nil {
				longest = max(longest, seconds)
			}
		}
		return longest
	}
	return 0
}
