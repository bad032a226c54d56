package prepared

import (
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/terminal"
)

// proofPage is how many rows one query of a proof reads.
const proofPage = 1000

// ProofMessages and ProofSends select rows before an ID as JSON objects, newest first. An engine
// replaces OBJECT by its function, and uses PostgreSQL's or SQLite's parameters.
const (
	ProofMessages = `SELECT OBJECT('id', i.id, 'chat', i.chat, 'state', i.state, 'status', i.status,
		'origin', i.origin, 'attempt', i.attempt, 'at', i.received, 'started', i.started,
		'turn', (SELECT coalesce(max(r.started), 0) FROM inbox r
			WHERE i.ended = 0 AND r.state = 'running' AND r.chat = i.chat AND r.ended = 0),
		'asks', (SELECT count(*) FROM question q JOIN inbox r ON r.id = q.inbound
			WHERE i.ended = 0 AND q.chat = i.chat AND q.closed = 0 AND r.ended = 0),
		'asked', (SELECT coalesce(max(q.closed), 0) FROM question q JOIN inbox r ON r.id = q.inbound
			WHERE i.ended = 0 AND q.chat = i.chat AND r.ended = 0),
		'sent', (SELECT count(*) FROM outbox o WHERE o.inbound = i.id AND o.sequence > 0 AND o.state = 'sent'),
		'unsent', (SELECT count(*) FROM outbox o
			WHERE o.inbound = i.id AND o.sequence > 0 AND o.state IN ('pending', 'sending')),
		'marked', (SELECT count(*) FROM outbox o
			WHERE o.inbound = i.id AND o.sequence > 0 AND o.state IN ('failed', 'unknown')),
		'boards', (SELECT count(*) FROM details d WHERE d.inbound = i.id),
		'lost', (SELECT count(*) FROM transcript t WHERE t.inbound = i.id AND t.delivery > 0
			AND NOT EXISTS (SELECT 1 FROM outbox o WHERE o.id = t.delivery)))
		FROM inbox i WHERE i.id < $1 ORDER BY i.id DESC LIMIT $2`
	ProofSends = `SELECT OBJECT('id', o.id, 'chat', o.chat, 'state', o.state, 'at', o.queued,
		'confirmed', length(o.receipt), 'reason', length(o.reason),
		'lost', CASE WHEN o.inbound > 0 AND NOT EXISTS (SELECT 1 FROM inbox i WHERE i.id = o.inbound) THEN 1 ELSE 0 END)
		FROM outbox o WHERE o.id < $1 ORDER BY o.id DESC LIMIT $2`
)

// ProofRow is a row of ProofMessages or ProofSends. Times are in microseconds.
type ProofRow struct {
	ID                                          int64
	Chat                                        string
	State                                       store.State
	Status                                      string
	Origin                                      channels.Origin
	At, Started, Turn, Asked                    int64
	Attempt, Asks, Sent, Unsent, Marked, Boards int
	Lost, Confirmed, Reason                     int
}

// ProofSource is what an engine reads for a proof: its time; the rows of a query before an ID; how
// many messages of people without access there were since a time.
type ProofSource struct {
	Now     time.Time
	Rows    func(query string, before int64, limit int) ([]ProofRow, error)
	Refused func(since time.Time) (int, error)
}

// Prove makes a proof of the rows of a store.
func (s ProofSource) Prove(request store.ProofRequest) (store.Proof, error) {
	p := prover{source: s, request: request}
	p.Since, p.Reasons = s.Now.Add(-request.Since), map[string]int{}
	// Sends are read first: a message whose send was stored in between is then unfinished or
	// answered, and never unanswered.
	sends, err := p.read(ProofSends)
	if err != nil {
		return store.Proof{}, err
	}
	messages, err := p.read(ProofMessages)
	if err != nil {
		return store.Proof{}, err
	}
	refused, err := s.Refused(p.Since)
	if err != nil {
		return store.Proof{}, err
	}
	if p.In = refused; refused > 0 {
		p.Reasons[store.ByRefusal] = refused
	}
	for _, row := range messages {
		p.addMessage(row)
	}
	for _, row := range sends {
		p.addSend(row)
	}
	return p.Proof, nil
}

type prover struct {
	store.Proof
	source  ProofSource
	request store.ProofRequest
}

// read reads the rows since the begin of the proof. If older ones may have been pruned because of
// their number, the proof begins with the oldest that is kept for certain.
func (p *prover) read(query string) (all []ProofRow, err error) {
	for before := int64(1) << 62; ; {
		page, err := p.source.Rows(query, before, proofPage)
		if err != nil {
			return nil, err
		}
		within := 0
		for _, row := range page {
			if before = row.ID; row.At >= p.Since.UnixMicro() { // a clock that was set back mixes the times
				all, within = append(all, row), within+1
			}
		}
		if within == 0 || len(page) < proofPage {
			break
		}
	}
	if p.request.Kept > 0 && len(all) >= p.request.Kept {
		p.Since = time.UnixMicro(all[p.request.Kept-1].At)
	}
	return all, nil
}

// addMessage explains one message.
func (p *prover) addMessage(row ProofRow) {
	if row.At < p.Since.UnixMicro() {
		return
	}
	p.In++
	switch reason, problem := p.explainMessage(row); {
	case problem != "":
		p.open(row, false, problem)
	case reason != "":
		p.Reasons[reason]++
	default:
		p.Answered++
	}
}

// explainMessage returns the reason why a message has no answer, or a problem. Without both, it was
// answered.
func (p *prover) explainMessage(row ProofRow) (reason string, problem store.Problem) {
	turn := row.State == store.Done && row.Attempt > 0
	isScheduled := row.Origin.Kind() == channels.BySchedule("").Kind() // its turn is quiet
	switch {
	case row.State == store.Pending || row.State == store.Running:
		if row.Asks == 0 && p.isOverdue(max(row.At, row.Turn, row.Asked)) {
			return "", store.Overdue
		}
		return string(row.State), ""
	case row.State == store.Interrupted: // its report or /stop has ended it
		return string(store.Interrupted), ""
	case row.Status == store.BySend && row.Sent+row.Unsent+row.Marked == 0:
		return "", store.NoAnswer
	case !turn && row.Status != "":
		return row.Status, ""
	case !turn:
		return "", store.NoReason
	case row.Lost > 0:
		return "", store.AnswerLost
	case row.Unsent > 0:
		return string(store.Sending), ""
	case row.Sent > 0:
		return "", ""
	case row.Marked > 0:
		return store.Undelivered, ""
	case row.Started < row.At: // its turn was running when it came
		return store.ByRead, ""
	case endedSilently[row.Status], isScheduled && row.Status != string(terminal.Done):
		return row.Status, ""
	case row.Boards > 0: // the answer is on the board
		return "", ""
	case isScheduled: // the gateway's own words about the end are not shown
		return string(terminal.Silent), ""
	}
	return "", store.NoAnswer
}

// endedSilently are the statuses of turns that need no message.
var endedSilently = map[string]bool{
	string(terminal.Silent): true, string(terminal.Stopped): true, string(terminal.Refused): true, store.Revoked: true,
}

// addSend explains one send.
func (p *prover) addSend(row ProofRow) {
	unfinished := row.State == store.Pending || row.State == store.Sending
	switch {
	case row.At < p.Since.UnixMicro():
		return
	case unfinished && !p.isOverdue(row.At):
		p.NotDue++
		return
	}
	p.Sends++
	switch {
	case unfinished:
		p.open(row, true, store.Overdue)
	case row.Lost > 0 && (p.request.Kept == 0 || p.In < p.request.Kept):
		p.open(row, true, store.InLost)
	case row.State == store.Sent && row.Confirmed > 0:
		p.Receipts++
	case row.State != store.Sent || row.Reason > 0:
		p.Marked++
	default:
		p.open(row, true, store.NoReceipt)
	}
}

func (p *prover) isOverdue(since int64) bool {
	return p.source.Now.UnixMicro()-since > p.request.Due.Microseconds()
}

func (p *prover) open(row ProofRow, send bool, problem store.Problem) {
	chat, _ := channels.ParseChat(row.Chat)
	p.Open = append(p.Open, store.Unexplained{
		Send: send, ID: row.ID, Chat: chat, State: row.State, Problem: problem,
		Age: p.source.Now.Sub(time.UnixMicro(row.At)),
	})
}
