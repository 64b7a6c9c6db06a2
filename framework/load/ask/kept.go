package ask

import "sync"

// Kept are connections on which nothing is asked at the moment. They take turns, so that one that broke is noticed soon, and not when many
// are needed.
type Kept struct {
	mu   sync.Mutex
	idle []Conn
}

// Take takes a connection; nil: there is none. One that the server has left is closed.
func (k *Kept) Take() Conn {
	k.mu.Lock()
	defer k.mu.Unlock()
	for len(k.idle) > 0 {
		c := k.idle[0]
		k.idle = k.idle[1:]
		if !c.Left() {
			return c
		}
		c.Close()
	}
	return nil
}

// Keep keeps a connection for the next question.
func (k *Kept) Keep(c Conn) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.idle = append(k.idle, c)
}

// Close closes all of them.
func (k *Kept) Close() {
	for c := k.Take(); c != nil; c = k.Take() {
		c.Close()
	}
}
