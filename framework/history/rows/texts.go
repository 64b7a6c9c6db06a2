package rows

// texts returns the same string for equal bytes, because the rows of a file contain the same few names millions of times. A slot
// keeps its last text, so memory is bounded. Different texts in the same slot only cost a copy.
type texts [1024]string

// get returns text as a string. hash must be the same for equal texts.
func (t *texts) get(text []byte, hash uint32) string {
	slot := &t[hash%uint32(len(t))]
	if *slot != string(text) { // the compiler does not copy for the comparison
		*slot = string(text)
	}
	return *slot
}
