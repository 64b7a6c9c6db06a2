package environment

import (
	"sync"

	"github.com/holdfast-ha/holdfast/framework/history"
)

// podNames is a record that remembers which pod had which IP address, because the servers of an application do not say which pod they
// are.
type podNames struct {
	*history.Writer
	mu    sync.Mutex
	owner map[string][]podAddress // by IP, in the order of time
}

// podAddress is a pod that got an address.
type podAddress struct {
	since     history.Offset
	pod, node string
}

// Append records an event.
func (p *podNames) Append(e history.Event) error {
	if e.Pod != nil && e.Pod.IP != "" {
		p.note(e.T, e.Pod)
	}
	return p.Writer.Append(e)
}

func (p *podNames) note(at history.Offset, pod *history.Pod) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.owner == nil {
		p.owner = make(map[string][]podAddress)
	}
	list := p.owner[pod.IP]
	if n := len(list); n > 0 && list[n-1].pod == pod.Name {
		return
	}
	p.owner[pod.IP] = append(list, podAddress{at, pod.Name, pod.Node})
}

// Named implements collect.Servers. The watch reports a pod's address before the pod is ready, so before clients are sent to it.
func (p *podNames) Named(ip string, at history.Offset) (pod, node string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, o := range p.owner[ip] {
		if o.since > at {
			break
		}
		pod, node = o.pod, o.node
	}
	return pod, node
}
