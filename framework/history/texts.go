package history

// texts hands out one string for equal bytes, because requests name the same few pods millions of times. A slot keeps
// the text that used it last, so that memory is bounded; texts that share a slot cost a copy and nothing else.
type texts [1024]string

// get returns text as a string. The hash is any number that equal texts have in common.
func (t *texts) get(text []byte, hash uint32) string {
	slot := &t[hash%uint32(len(t))]
	if *slot != string(text) { // the compiler makes no copy to compare
		*slot = string(text)
	}
	return *slot
}
