package schedulercheck

import (
	"encoding/json"
	"flag"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
)

var (
	clusters = flag.Int("clusters", 3000, "how many random clusters to compare")
	first    = flag.Uint64("first", 0, "the number of the first cluster")
	seed     = flag.Uint64("seed", 1, "the seed of the random clusters")
	findAll  = flag.Bool("all", false, "go on after a disagreement, and report the first of each kind")
)

// totals count what was compared.
type totals struct {
	sync.Mutex
	clusters, asked, illegal, refused int
	alone                             map[string]int // nodes that one plugin alone refuses
	found                             map[string]string
}

// TestPlacementAgainstScheduler checks that Placement judges a binding legal where kube-scheduler's filters admit the pod, and
// illegal where they refuse it, whatever the history of the cluster was.
func TestPlacementAgainstScheduler(t *testing.T) {
	if *clusters < 1 {
		t.Fatalf("-clusters %d: nothing would be compared", *clusters)
	}
	const workers = 4
	began := time.Now()
	all := &totals{alone: make(map[string]int), found: make(map[string]string)}
	numbers := make(chan uint64)
	var done sync.WaitGroup
	for range workers {
		done.Go(func() {
			s := newScheduler(t)
			for n := range numbers {
				all.compare(t, s, n)
			}
		})
	}
	for n := range uint64(*clusters) {
		if !*findAll && t.Failed() {
			break
		}
		numbers <- *first + n
	}
	close(numbers)
	done.Wait()
	for _, kind := range slices.Sorted(maps.Keys(all.found)) {
		t.Error(all.found[kind])
	}
	all.report(t, time.Since(began))
}

func (all *totals) compare(t testing.TB, s *scheduler, number uint64) {
	c := randomCluster(*seed, number)
	theirs, err := s.refusals(t.Context(), c)
	if err != nil {
		t.Errorf("cluster %d: %s", number, err)
		return
	}
	unweighed := c.aboutElsewhere()
	for _, n := range c.nodes {
		ours, _ := c.ask(n.Name)
		all.count(ours, theirs[n.Name])
		if !agree(unweighed, ours, theirs[n.Name]) {
			all.disagreement(t, s, c, n.Name, number)
		}
	}
	all.Lock()
	defer all.Unlock()
	all.clusters++
}

// agree reports whether the answers are the same. Rules about pods that a record does not hold must be left unjudged.
func agree(unweighed bool, ours answer, theirs []string) bool {
	switch {
	case unweighed:
		return ours == refused
	case len(theirs) > 0:
		return ours == illegal
	}
	return ours == legal
}

func (all *totals) count(ours answer, theirs []string) {
	all.Lock()
	defer all.Unlock()
	all.asked++
	if ours == refused {
		all.refused++
		return
	}
	if len(theirs) > 0 {
		all.illegal++
	}
	if len(theirs) == 1 {
		all.alone[theirs[0]]++
	}
}

// disagreement reports the smallest cluster in which the two still disagree about the node.
func (all *totals) disagreement(t testing.TB, s *scheduler, c *cluster, node string, number uint64) {
	c = shrink(c, func(c *cluster) bool {
		if !slices.ContainsFunc(c.nodes, func(n *corev1.Node) bool { return n.Name == node }) {
			return false
		}
		theirs, err := s.refusals(t.Context(), c)
		ours, _ := c.ask(node)
		return err == nil && !agree(c.aboutElsewhere(), ours, theirs[node])
	})
	theirs, _ := s.refusals(t.Context(), c)
	ours, v := c.ask(node)
	kind := fmt.Sprintf("%s, refused by %q", ours, strings.Join(theirs[node], ", "))
	text := fmt.Sprintf("seed %d, cluster %d, node %s: Placement says %s, and these plugins of kube-scheduler refuse: %q\n%s\n%s\n%s\nreproduce: go test -args -seed %d -first %d -clusters 1",
		*seed, number, node, ours, theirs[node], v.Seen, strings.Join(v.Evidence, "\n"), c, *seed, number)
	all.Lock()
	defer all.Unlock()
	if _, had := all.found[kind]; !had {
		all.found[kind] = text
	}
	t.Fail()
}

// report logs the totals, and fails if so few or so many bindings were refused that agreement means little.
func (all *totals) report(t testing.TB, took time.Duration) {
	share := func(n int) float64 { return float64(n) / float64(max(all.asked, 1)) }
	t.Logf("%d clusters from number %d with seed %d, %d nodes asked in %s: %.1f %% illegal, %.1f %% not weighed (rules about other namespaces)",
		all.clusters, *first, *seed, all.asked, took.Round(time.Second), 100*share(all.illegal), 100*share(all.refused))
	for _, name := range slices.Sorted(maps.Keys(plugins)) {
		t.Logf("refused by %s alone: %d (%.2f %%)", name, all.alone[name], 100*share(all.alone[name]))
		if all.clusters >= 1000 && share(all.alone[name]) < 0.005 {
			t.Errorf("%s decided alone too rarely: the comparison proves little", name)
		}
	}
	if all.clusters >= 1000 && (share(all.illegal) < 0.2 || share(all.illegal) > 0.8 || share(all.refused) > 0.3) {
		t.Error("too few were legal, illegal or weighed: the comparison proves little")
	}
}

// TestComparisonFindsDifferences leaves one thing of the clusters out of the records, or changes it, and checks that the comparison
// finds a disagreement. So it would find a rule that Placement does not know, or knows differently than the scheduler.
func TestComparisonFindsDifferences(t *testing.T) {
	eachSpread := func(change func(*corev1.TopologySpreadConstraint)) func(*cluster) {
		return func(c *cluster) {
			for i := range c.incoming.Spec.TopologySpreadConstraints {
				change(&c.incoming.Spec.TopologySpreadConstraints[i])
			}
		}
	}
	eachPod := func(change func(*corev1.Pod)) func(*cluster) {
		return func(c *cluster) {
			for _, p := range append(slices.Clone(c.pods), c.incoming) {
				change(p)
			}
		}
	}
	eachNode := func(change func(*corev1.Node)) func(*cluster) {
		return func(c *cluster) {
			for _, n := range c.nodes {
				change(n)
			}
		}
	}
	other := func(p *corev1.NodeInclusionPolicy) *corev1.NodeInclusionPolicy {
		if p != nil && *p == corev1.NodeInclusionPolicyHonor {
			return new(corev1.NodeInclusionPolicyIgnore)
		}
		return new(corev1.NodeInclusionPolicyHonor)
	}
	for what, spoil := range map[string]func(*cluster){
		"maxSkew":            eachSpread(func(c *corev1.TopologySpreadConstraint) { c.MaxSkew++ }),
		"minDomains":         eachSpread(func(c *corev1.TopologySpreadConstraint) { c.MinDomains = nil }),
		"matchLabelKeys":     eachSpread(func(c *corev1.TopologySpreadConstraint) { c.MatchLabelKeys = nil }),
		"nodeTaintsPolicy":   eachSpread(func(c *corev1.TopologySpreadConstraint) { c.NodeTaintsPolicy = other(c.NodeTaintsPolicy) }),
		"nodeAffinityPolicy": eachSpread(func(c *corev1.TopologySpreadConstraint) { c.NodeAffinityPolicy = other(c.NodeAffinityPolicy) }),
		"whenUnsatisfiable": eachSpread(func(c *corev1.TopologySpreadConstraint) {
			c.WhenUnsatisfiable = corev1.DoNotSchedule
			c.MinDomains = nil
		}),
		"selectors of spread": eachSpread(func(c *corev1.TopologySpreadConstraint) {
			if c.LabelSelector != nil {
				c.LabelSelector.MatchExpressions = nil
			}
		}),
		"spread":           func(c *cluster) { c.incoming.Spec.TopologySpreadConstraints = nil },
		"terminating":      eachPod(func(p *corev1.Pod) { p.DeletionTimestamp = nil }),
		"other namespaces": eachPod(func(p *corev1.Pod) { p.Namespace = home }),
		"anti-affinity": eachPod(func(p *corev1.Pod) {
			if p.Spec.Affinity != nil {
				p.Spec.Affinity.PodAntiAffinity = nil
			}
		}),
		"anti-affinity of existing pods": func(c *cluster) {
			for _, p := range c.pods {
				p.Spec.Affinity = nil
			}
		},
		"affinity": eachPod(func(p *corev1.Pod) {
			if p.Spec.Affinity != nil {
				p.Spec.Affinity.PodAffinity = nil
			}
		}),
		"node affinity": eachPod(func(p *corev1.Pod) {
			if p.Spec.Affinity != nil {
				p.Spec.Affinity.NodeAffinity = nil
			}
		}),
		"node selector":   func(c *cluster) { c.incoming.Spec.NodeSelector = nil },
		"tolerations":     func(c *cluster) { c.incoming.Spec.Tolerations = nil },
		"taints":          eachNode(func(n *corev1.Node) { n.Spec.Taints = nil }),
		"cordons":         eachNode(func(n *corev1.Node) { n.Spec.Unschedulable = false }),
		"labels of nodes": eachNode(func(n *corev1.Node) { delete(n.Labels, zoneKey) }),
		"labels of pods": func(c *cluster) {
			for _, p := range c.pods {
				delete(p.Labels, "rev")
			}
		},
	} {
		t.Run(what, func(t *testing.T) {
			s := newScheduler(t)
			for number := range uint64(2000) {
				c := randomCluster(*seed, number)
				theirs, err := s.refusals(t.Context(), c)
				if err != nil {
					t.Fatal(err)
				}
				if c.aboutElsewhere() {
					continue
				}
				spoil(c)
				for _, n := range c.nodes {
					if ours, _ := c.ask(n.Name); !agree(false, ours, theirs[n.Name]) {
						return
					}
				}
			}
			t.Errorf("no disagreement, although the record lacks %s", what)
		})
	}
}

// String describes a cluster for the report of a disagreement.
func (c *cluster) String() string {
	var text strings.Builder
	for _, n := range c.nodes {
		fmt.Fprintf(&text, "node %s: %v unschedulable=%t taints=%v\n", n.Name, n.Labels, n.Spec.Unschedulable, n.Spec.Taints)
	}
	for _, p := range append(slices.Clone(c.pods), c.incoming) {
		fmt.Fprintf(&text, "pod %s/%s on %q: %v going=%t %s\n", p.Namespace, p.Name, p.Spec.NodeName, p.Labels, p.DeletionTimestamp != nil, rulesOf(p.Spec))
	}
	return text.String()
}

// TestRulesAreReadable checks that a random pod's rules in a record are equal to those of the API.
func TestRulesAreReadable(t *testing.T) {
	for number := range uint64(100) {
		p := randomCluster(*seed, number).incoming
		var spec corev1.PodSpec
		if err := json.Unmarshal(rulesOf(p.Spec), &spec); err != nil {
			t.Fatal(err)
		}
		if string(rulesOf(spec)) != string(rulesOf(p.Spec)) {
			t.Errorf("cluster %d: %s is read as %s", number, rulesOf(p.Spec), rulesOf(spec))
		}
	}
}
