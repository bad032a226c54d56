package postgres

import (
	"cmp"
	"context"
	"fmt"

	"nanobot/channels"
	"nanobot/gateway/store"
	"nanobot/gateway/store/prepared"
)

// receiveArgs is a store.ReceiveRequest as the function receive takes it.
type receiveArgs struct {
	Chat     string `json:"chat"`
	Key      string `json:"key,omitempty"` // "": it is never a duplicate
	Agent    string `json:"agent"`
	Origin   string `json:"origin"`
	Person   string `json:"person"`
	Incoming string `json:"incoming"`
	// Quoted is the message that this one quotes, and Unquoted is Incoming without its text.
	Quoted          string           `json:"quoted,omitempty"`
	Unquoted        string           `json:"unquoted,omitempty"`
	Claim           bool             `json:"claim,omitempty"`
	NotWhileRunning bool             `json:"notWhileRunning,omitempty"`
	QueueLimit      int              `json:"queueLimit,omitempty"`
	OriginLimit     int              `json:"originLimit,omitempty"`
	Gather          int64            `json:"gather,omitempty"`
	Follows         int64            `json:"follows,omitempty"`
	Settle          bool             `json:"settle,omitempty"`
	Reason          string           `json:"reason,omitempty"`
	Secret          bool             `json:"secret,omitempty"`
	Secrets         []string         `json:"secrets,omitempty"`
	Part            *partArg         `json:"part,omitempty"`
	Answer          []outboundArgs   `json:"answer,omitempty"`
	Entry           *entryArgs       `json:"entry,omitempty"`
	Occurrences     []occurrenceArgs `json:"occurrences,omitempty"`
	Reply           *store.Reply     `json:"reply,omitempty"`
	Requests        *requestArgs     `json:"requests,omitempty"`
	// Before is the candidate that was considered, with its version, and Joined both messages, if
	// they belong together, which wait until NotBefore.
	Before    int64  `json:"before,omitempty"`
	Op        int64  `json:"op,omitempty"`
	Joined    string `json:"joined,omitempty"`
	NotBefore int64  `json:"notBefore"`
}

// occurrenceArgs is a store.Occurrence as the function insert_occurrences takes it.
type occurrenceArgs struct {
	Schedule string                  `json:"schedule"`
	Due      int64                   `json:"due"`
	Wall     string                  `json:"wall"`
	Outcome  store.OccurrenceOutcome `json:"outcome"`
	Reason   string                  `json:"reason"`
}

func prepareOccurrences(all []store.Occurrence) (args []occurrenceArgs) {
	for _, o := range all {
		args = append(args, occurrenceArgs{o.Schedule, micros(o.Due), o.Wall, o.Outcome, o.Reason})
	}
	return args
}

// requestArgs are the requests of a message that the function apply_requests carries out.
type requestArgs struct {
	Restart           int64  `json:"restart,omitempty"`
	Resend            int64  `json:"resend,omitempty"`
	Stop              int64  `json:"stop,omitempty"`
	Drop              int64  `json:"drop,omitempty"`
	Cancel            bool   `json:"cancel,omitempty"`
	StartConversation bool   `json:"startConversation,omitempty"`
	Key               string `json:"key,omitempty"`
	Value             string `json:"value,omitempty"`
}

// receiveAnswer is the answer of the function receive: the message has the disposition, unless
// there is a candidate.
type receiveAnswer struct {
	ID, Candidate, Now, NotBefore, Running int64
	Disposition                            store.Disposition
	Runner                                 string
	About                                  aboutChat
	Waiting                                int
	Replied, Released, Unquoted            bool
}

// Receive stores an inbound message once.
func (s inbox) Receive(ctx context.Context, r store.ReceiveRequest) (result store.ReceiveResult, err error) {
	what := fmt.Sprintf("receive message %s of %s", r.In.ID, r.In.Chat)
	part := partOf(r.In)
	_, r.In = prepared.ExtractPart(r.In)
	args := prepareReceive(r)
	args.Part = part
	var answer receiveAnswer
	var before inboundRow
	for {
		answer = receiveAnswer{}
		err := s.change(ctx, changeRequest{what: what, function: "receive", scope: ofChat(r.In.Chat), args: args}, &answer)
		if err != nil {
			return result, err
		}
		if answer.Unquoted {
			r.In.ReplyTo = withoutQuote(r.In)
		}
		if answer.Candidate == 0 {
			break
		}
		if before, err = s.readInbound(ctx, what, answer.Candidate); err != nil {
			return result, err
		}
		args.Before, args.Op, args.Joined = before.ID, before.Op, ""
		request := prepared.Receive{ReceiveRequest: r, Now: fromMicros(answer.Now)}
		if both, ok := request.Join(before.Inbound); ok {
			before.Inbound, args.Joined, args.NotBefore = both, prepared.JSON(&both.In), micros(both.NotBefore)
		}
	}
	if answer.Disposition != store.Busy && answer.Disposition != store.Full {
		s.moveCursor(r.In.Chat.Channel, r.Cursor)
	}
	if answer.Disposition == store.Duplicate {
		result.Inbound, _, err = s.Inbound(ctx, answer.ID)
		return result, err
	}
	result = answer.result(s.member, r)
	if answer.Disposition == store.Claimed {
		s.running.add(answer.ID)
	}
	if answer.Disposition == store.Queued && answer.Running == 0 {
		s.hint() // another member may have room for it
	}
	if answer.Disposition == store.Joined {
		result.Inbound = before.Inbound
	}
	return result, nil
}

// prepareReceive encodes a request.
func prepareReceive(r store.ReceiveRequest) receiveArgs {
	person, _ := r.In.Responsible()
	args := receiveArgs{
		Chat: r.In.Chat.String(), Key: cmp.Or(r.Key, r.In.ID), Agent: cmp.Or(r.Agent, store.DefaultAgent),
		Origin: r.In.Origin.String(), Person: person, Incoming: prepared.JSON(&r.In), Claim: r.Claim,
		NotWhileRunning: r.NotWhileRunning, QueueLimit: r.QueueLimit, OriginLimit: r.OriginLimit,
		Gather: r.Gather.Microseconds(), Follows: r.Follows.Microseconds(), Settle: r.Settle || r.Secret, Secret: r.Secret,
		Answer: prepareEach(r.Answer), Entry: prepareEntry(r.Entry), Occurrences: prepareOccurrences(r.Occurrences),
		Reply: r.Reply, Reason: r.Reason,
	}
	requests := requestArgs{
		r.Restart, r.Resend, r.Stop, r.Drop, r.Cancel, r.StartConversation, r.Remember.Key, r.Remember.Value,
	}
	if requests != (requestArgs{}) {
		args.Requests = &requests
	}
	if r.Entry != nil { // the message is sent, and its deliveries can be read like those of a turn
		answer, _ := checkAndPrepare(store.Outbound{Parts: r.Answer, Sequence: 1})
		args.Answer = []outboundArgs{answer}
	}
	if r.Secret {
		stored := prepared.WithoutText(r.In)
		args.Incoming, args.Secrets = prepared.JSON(&stored), secretsOf(r.In)
	}
	if quote := r.In.ReplyTo; quote != nil && quote.ID != "" && quote.Text != "" {
		stored := r.In
		if r.Secret {
			stored = prepared.WithoutText(r.In)
		}
		stored.ReplyTo = withoutQuote(r.In)
		args.Quoted, args.Unquoted = quote.ID, prepared.JSON(&stored)
	}
	return args
}

// result returns the result of a request that was answered.
func (a receiveAnswer) result(member string, r store.ReceiveRequest) store.ReceiveResult {
	i := a.About.describe(store.Inbound{
		ID: a.ID, In: r.In, Agent: cmp.Or(r.Agent, store.DefaultAgent), Received: fromMicros(a.Now), State: store.Pending,
		NotBefore: fromMicros(a.NotBefore),
	})
	if a.Disposition == store.Settled {
		i.State, i.Ended, i.Outcome.Status = store.Done, i.Received, r.Reason
	}
	if a.Disposition == store.Claimed {
		i.State, i.Owner, i.Attempt, i.Started = store.Running, member, 1, i.Received
	}
	result := store.ReceiveResult{
		Inbound: i, Disposition: a.Disposition, Running: a.Running, Runner: a.Runner, Waiting: a.Waiting, Replied: a.Replied,
		Released: a.Released,
	}
	if r.Secret && a.ID != 0 {
		result.Secrets = prepared.Secrets(i)
	}
	return result
}

// EraseText removes the text of an inbound message.
func (s inbox) EraseText(ctx context.Context, id int64) ([]store.Transient, error) {
	what := fmt.Sprintf("erase the text of inbound message %d", id)
	for {
		row, err := s.readInbound(ctx, what, id)
		if err != nil {
			return nil, err
		}
		erased := prepared.WithoutText(row.In)
		var done bool
		err = s.change(ctx, changeRequest{what: what, function: "erase_text", scope: ofInbound(id), args: map[string]any{
			"id": id, "op": row.Op, "chat": row.In.Chat.String(), "incoming": prepared.JSON(&erased),
			"secrets": secretsOf(row.In),
		}}, &done)
		if err != nil || done {
			return prepared.Secrets(row.Inbound), err
		}
	}
}

// withoutQuote returns what a message answers, without the text of that message.
func withoutQuote(in channels.Incoming) *channels.Quote {
	quote := *in.ReplyTo
	quote.Text = ""
	return &quote
}

// secretsOf returns the IDs of the network's messages that contain the text of a message.
func secretsOf(in channels.Incoming) []string {
	ids := []string{}
	for _, t := range prepared.Secrets(store.Inbound{In: in}) {
		ids = append(ids, t.ID)
	}
	return ids
}
