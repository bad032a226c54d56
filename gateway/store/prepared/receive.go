package prepared

import (
	"cmp"
	"time"

	"nanobot/channels"
	"nanobot/gateway/store"
)

// Receive is a message that is received.
type Receive struct {
	store.ReceiveRequest
	Part    channels.Part
	Member  string // the member that receives it
	Now     time.Time
	Encoded string // the message as JSON
	Answers []*Outbound
}

// NewReceive prepares the receipt of a message.
func NewReceive(request store.ReceiveRequest, member string, now time.Time) Receive {
	r := Receive{Member: member, Now: now}
	r.Part, request.In = ExtractPart(request.In)
	stored := request.In
	if request.Secret {
		request.Settle, stored = true, WithoutText(request.In)
	}
	r.ReceiveRequest, r.Encoded = request, JSON(&stored)
	if request.Entry != nil { // the message is sent, and its deliveries can be read like those of a turn
		outbound := store.Outbound{Parts: request.Answer, Sequence: 1}
		r.Answers = []*Outbound{newOutbound(outbound, member, request.In.Chat)}
	} else {
		r.Answers = NewOutbounds(request.Answer, member)
	}
	return r
}

// ExtractPart returns the part of an incoming message, and the message without Part and Raw, which
// are needed only until the message is complete.
func ExtractPart(in channels.Incoming) (channels.Part, channels.Incoming) {
	var p channels.Part
	if in.Part != nil {
		p = *in.Part
	}
	in.Part, in.Raw = nil, nil
	return p, in
}

// WithoutText returns a message that has no text.
func WithoutText(in channels.Incoming) channels.Incoming {
	in.Text, in.Pieces = "", nil
	return in
}

// Secrets returns the network's messages of an inbound message with a secret, to be recorded as
// transient.
func Secrets(inbound store.Inbound) (secrets []store.Transient) {
	if inbound.In.Press != "" { // nobody has written it
		return nil
	}
	pieces := inbound.In.Pieces
	if len(pieces) == 0 {
		pieces = []channels.Piece{{ID: inbound.In.ID}}
	}
	for _, piece := range pieces {
		if piece.ID != "" {
			secrets = append(secrets,
				store.Transient{Chat: inbound.In.Chat, ID: piece.ID, Inbound: inbound.ID, Incoming: true})
		}
	}
	return secrets
}

// MessageKey identifies the message in its chat; "": it is never a duplicate.
func (r Receive) MessageKey() string { return cmp.Or(r.Key, r.In.ID) }

// maxPieces bounds the messages that are joined to one.
const maxPieces = 100

// MayJoin reports whether the message may belong to the one before of its sender.
func (r Receive) MayJoin() bool { return !r.Settle && (r.Gather > 0 || r.Follows > 0) }

// Join adds the message to the one before of its sender, if they belong together and that is still
// pending. It reports false if they stay two messages.
func (r Receive) Join(before store.Inbound) (store.Inbound, bool) {
	gathers := r.Gather > 0 && r.Now.Before(before.NotBefore)
	follows := r.Follows > 0 && before.In.Introduces() && r.Now.Sub(before.Received) <= r.Follows
	sameAgent := before.In.SamePlace(r.In) && before.Agent == cmp.Or(r.Agent, store.DefaultAgent)
	belongs := gathers && sameAgent || follows && (sameAgent || r.FollowsAgent)
	if !belongs || before.State != store.Pending || before.Attempt != 0 || len(before.In.Pieces) >= maxPieces ||
		channels.UTF16(before.In.Text)+channels.UTF16(r.In.Text) > store.MaxGatherUnits {
		return store.Inbound{}, false
	}
	before.In = channels.Join(before.In, r.In, "\n")
	if r.Gather > 0 && !before.NotBefore.IsZero() {
		before.NotBefore = r.Now.Add(r.Gather)
		if last := before.Received.Add(store.MaxGather); last.Before(before.NotBefore) {
			before.NotBefore = last
		}
	}
	return before, true
}
