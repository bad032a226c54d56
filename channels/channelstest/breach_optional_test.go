package channelstest

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"nanobot/channels"
)

// odd is a fake of which one method of an optional interface is not as it should be.
type odd struct {
	fake
	send        func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error)
	plan        func(m channels.Message) ([]channels.Outgoing, error)
	run         func(ctx context.Context, receive channels.Receive) error
	edit        func(ctx context.Context, id string, o channels.Outgoing) error
	remove      func(ctx context.Context, chat channels.Chat, id string) error
	replace     func(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error)
	fileLimit   func(chat channels.Chat) (int64, string)
	typing      func(ctx context.Context, chat channels.Chat) error
	resume      func(cursor string)
	keepCursor  func(keep func(ctx context.Context, cursor string) error)
	mount       func() (string, http.Handler)
	hangUp      func()
	watched     func() bool
	publish     func(event string, data any)
	health      func() error
	setMenu     func(commands []channels.Command)
	setChatMenu func(ctx context.Context, chat channels.Chat, commands []channels.Command) error
	examine     func(ctx context.Context, e channels.ExamineOptions) []channels.Finding
	end         func() error
}

// or is the odd method if there is one.
func or[F any](odd F, given bool, usual F) F {
	if given {
		return odd
	}
	return usual
}

func (o odd) Send(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
	return or(o.send, o.send != nil, o.fake.Send)(ctx, m)
}

func (o odd) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return or(o.plan, o.plan != nil, o.fake.Plan)(m)
}

func (o odd) Run(ctx context.Context, receive channels.Receive) error {
	return or(o.run, o.run != nil, o.fake.Run)(ctx, receive)
}

func (o odd) Edit(ctx context.Context, id string, m channels.Outgoing) error {
	return or(o.edit, o.edit != nil, o.fake.Edit)(ctx, id, m)
}

func (o odd) Remove(ctx context.Context, chat channels.Chat, id string) error {
	return or(o.remove, o.remove != nil, o.fake.Remove)(ctx, chat, id)
}

func (o odd) Replace(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
	return or(o.replace, o.replace != nil, o.fake.Replace)(ctx, id, m)
}

func (o odd) FileLimit(chat channels.Chat) (int64, string) {
	return or(o.fileLimit, o.fileLimit != nil, o.fake.FileLimit)(chat)
}

func (o odd) Typing(ctx context.Context, chat channels.Chat) error {
	return or(o.typing, o.typing != nil, o.fake.Typing)(ctx, chat)
}

func (o odd) Resume(cursor string) { or(o.resume, o.resume != nil, o.fake.Resume)(cursor) }

func (o odd) KeepCursor(keep func(ctx context.Context, cursor string) error) {
	or(o.keepCursor, o.keepCursor != nil, o.fake.KeepCursor)(keep)
}

func (o odd) Mount() (string, http.Handler) { return or(o.mount, o.mount != nil, o.fake.Mount)() }

func (o odd) CloseStreams() { or(o.hangUp, o.hangUp != nil, o.fake.CloseStreams)() }

func (o odd) Watched() bool { return or(o.watched, o.watched != nil, o.fake.Watched)() }

func (o odd) Publish(event string, data any) {
	or(o.publish, o.publish != nil, o.fake.Publish)(event, data)
}

func (o odd) Health() error { return or(o.health, o.health != nil, o.fake.Health)() }

func (o odd) SetMenu(commands []channels.Command) {
	or(o.setMenu, o.setMenu != nil, o.fake.SetMenu)(commands)
}

func (o odd) SetChatMenu(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
	return or(o.setChatMenu, o.setChatMenu != nil, o.fake.SetChatMenu)(ctx, chat, commands)
}

func (o odd) Examine(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
	return or(o.examine, o.examine != nil, o.fake.Examine)(ctx, e)
}

func (o odd) Close() error { return or(o.end, o.end != nil, o.fake.Close)() }

// strange makes one method of a fake odd.
func strange(change func(f fake, o *odd)) func(*testing.T, fake) channels.Channel {
	return func(_ *testing.T, f fake) channels.Channel {
		o := odd{fake: f}
		change(f, &o)
		return o
	}
}

var optionalBreaches = slices.Concat(editBreaches, optionalSendBreaches, optionalRunBreaches, serveBreaches)
