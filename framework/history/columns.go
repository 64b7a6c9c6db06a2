package history

// column connects a column of a requests file with a field of Request. Exactly one pointer is set.
type column struct {
	name     string // including the unit, if it has one
	required bool   // a file without it is not a requests file; other columns may be missing and are then zero

	text   *string
	signed *int64
	count  *uint64
	number *int
	flag   *bool // 0 or 1, so that every tool can sum them
}

// bind lists the columns of a requests file, in order. No other code defines their names.
func bind(r *Request) []column {
	return []column{
		{name: "worker", required: true, text: &r.Worker},
		{name: "lane", required: true, text: (*string)(&r.Lane)},
		{name: "seq", required: true, count: &r.Seq},
		{name: "due_ns", required: true, signed: (*int64)(&r.Due)},
		{name: "sent_ns", required: true, signed: (*int64)(&r.Sent)},
		{name: "done_ns", required: true, signed: (*int64)(&r.Done)},
		{name: "outcome", required: true, text: (*string)(&r.Outcome)},
		{name: "status", number: &r.Status},
		{name: "attempts", number: &r.Attempts},
		{name: "body_bytes", signed: &r.Bytes},
		{name: "conn", count: &r.Conn},
		{name: "reused", flag: &r.Reused},
		{name: "addr", text: &r.Addr},
		{name: "pod", text: &r.Pod},
		{name: "node", text: &r.Node},
		{name: "zone", text: &r.Zone},
		{name: "revision", text: &r.Revision},
		{name: "inferred", flag: &r.Inferred},
		{name: "gateway_tries", number: &r.GatewayTries},
		{name: "err", text: &r.Err},
	}
}
