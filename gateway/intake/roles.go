package intake

import (
	"context"

	"nanobot/channels"
	"nanobot/gateway/audit"
	"nanobot/gateway/store"
	"nanobot/internal/role"
	"nanobot/internal/words"
)

// sender returns the person who has sent a message.
func sender(in channels.Incoming) store.Person {
	return store.Person{Channel: in.Chat.Channel, User: in.User.ID}
}

// checkRole refuses the command that a message is if the role of its sender does not include that.
// own says that it is one of the gateway, and ctl is a message for the agent's protocol, or nil. It
// returns nil for text that the protocol would read as input to a terminal, which is then for the
// agent.
func (i *Intake) checkRole(ctx context.Context, in channels.Incoming, own bool, ctl *control) (
	allowed *control, refused bool, err error,
) {
	switch {
	case own:
		word, _ := commandWord(in)
		refused, err = i.refuseAction(ctx, in, role.Action(word))
	case ctl.isCommand():
		refused, err = i.refuseAction(ctx, in, role.Action("/"+ctl.request.Command))
	case ctl != nil:
		may, err := i.o.Access.May(ctx, sender(in), role.TypeInTerminal)
		if !may {
			return nil, false, err
		}
	}
	return ctl, refused, err
}

// refuseAction tells a person whose role does not include an action, and audits that once. It
// reports false if the role includes it.
func (i *Intake) refuseAction(ctx context.Context, in channels.Incoming, a role.Action) (refused bool, err error) {
	r, err := i.o.Access.Role(ctx, sender(in))
	if err != nil || role.May(r, a, role.NoList) {
		return false, err
	}
	secret, err := i.mayBeSecret(ctx, in)
	if err != nil {
		return true, err
	}
	told, err := i.storeAnswered(ctx, store.ReceiveRequest{
		In: in, Cursor: in.Cursor, Settle: true, Reason: store.ByRole, Secret: secret,
	},
		toSender(i.words(in).Text(words.NotInRole, r)))
	if told {
		i.o.Audit.Record(in, audit.Record{Event: audit.Denied, Decision: audit.Role, Command: string(a)})
	}
	return true, err
}
