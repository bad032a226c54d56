package channelstest

import (
	"context"
	"net/http"
	"slices"
	"testing"

	"nanobot/channels"
)

// faultyChannel is a fakeChannel with one faulty method.
type faultyChannel struct {
	fakeChannel
	send         func(ctx context.Context, o channels.Outgoing) (channels.Receipt, error)
	plan         func(m channels.Message) ([]channels.Outgoing, error)
	run          func(ctx context.Context, receive channels.Receive) error
	edit         func(ctx context.Context, id string, o channels.Outgoing) error
	remove       func(ctx context.Context, chat channels.Chat, id string) error
	replace      func(ctx context.Context, id string, o channels.Outgoing) (channels.Receipt, error)
	closeAsked   func(ctx context.Context, chat channels.Chat, id, outcome string) error
	drafts       func(chat channels.Chat) bool
	draft        func(ctx context.Context, key string, o channels.Outgoing) error
	reacts       func(chat channels.Chat) bool
	react        func(ctx context.Context, chat channels.Chat, id string, r channels.Reaction) error
	fileLimit    func(chat channels.Chat, language string) (int64, string)
	closeIdle    func()
	typing       func(ctx context.Context, chat channels.Chat) error
	locateChat   func(id string) (parent, topic string, group bool)
	linkMessage  func(chat channels.Chat, group bool, id string) string
	checkChat    func(id string) error
	resume       func(cursor string)
	keepCursor   func(keep func(ctx context.Context, cursor string) error)
	mount        func() (string, http.Handler)
	closeStreams func()
	watched      func() bool
	publish      func(event string, data any)
	health       func() error
	setMenu      func(commands []channels.Command)
	setSource    func(read channels.MenuSource)
	setChatMenu  func(ctx context.Context, chat channels.Chat, commands []channels.Command) error
	examine      func(ctx context.Context, e channels.ExamineOptions) []channels.Finding
	close        func() error
}

// overridden returns the faulty method if it is given, and the correct method otherwise.
func overridden[F any](faulty F, given bool, correct F) F {
	if given {
		return faulty
	}
	return correct
}

func (o faultyChannel) Send(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
	return overridden(o.send, o.send != nil, o.fakeChannel.Send)(ctx, m)
}

func (o faultyChannel) Plan(m channels.Message) ([]channels.Outgoing, error) {
	return overridden(o.plan, o.plan != nil, o.fakeChannel.Plan)(m)
}

func (o faultyChannel) Run(ctx context.Context, receive channels.Receive) error {
	return overridden(o.run, o.run != nil, o.fakeChannel.Run)(ctx, receive)
}

func (o faultyChannel) Edit(ctx context.Context, id string, m channels.Outgoing) error {
	return overridden(o.edit, o.edit != nil, o.fakeChannel.Edit)(ctx, id, m)
}

func (o faultyChannel) Remove(ctx context.Context, chat channels.Chat, id string) error {
	return overridden(o.remove, o.remove != nil, o.fakeChannel.Remove)(ctx, chat, id)
}

func (o faultyChannel) Replace(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
	return overridden(o.replace, o.replace != nil, o.fakeChannel.Replace)(ctx, id, m)
}

func (o faultyChannel) CloseQuestion(ctx context.Context, chat channels.Chat, id, outcome string) error {
	return overridden(o.closeAsked, o.closeAsked != nil, o.fakeChannel.CloseQuestion)(ctx, chat, id, outcome)
}

func (o faultyChannel) Drafts(chat channels.Chat) bool {
	return overridden(o.drafts, o.drafts != nil, o.fakeChannel.Drafts)(chat)
}

func (o faultyChannel) Draft(ctx context.Context, key string, m channels.Outgoing) error {
	return overridden(o.draft, o.draft != nil, o.fakeChannel.Draft)(ctx, key, m)
}

func (o faultyChannel) Reacts(chat channels.Chat) bool {
	return overridden(o.reacts, o.reacts != nil, o.fakeChannel.Reacts)(chat)
}

func (o faultyChannel) React(ctx context.Context, chat channels.Chat, id string, r channels.Reaction) error {
	return overridden(o.react, o.react != nil, o.fakeChannel.React)(ctx, chat, id, r)
}

func (o faultyChannel) FileLimit(chat channels.Chat, language string) (int64, string) {
	return overridden(o.fileLimit, o.fileLimit != nil, o.fakeChannel.FileLimit)(chat, language)
}

func (o faultyChannel) CloseIdleConnections() {
	overridden(o.closeIdle, o.closeIdle != nil, o.fakeChannel.CloseIdleConnections)()
}

func (o faultyChannel) Typing(ctx context.Context, chat channels.Chat) error {
	return overridden(o.typing, o.typing != nil, o.fakeChannel.Typing)(ctx, chat)
}

func (o faultyChannel) LocateChat(id string) (parent, topic string, group bool) {
	return overridden(o.locateChat, o.locateChat != nil, o.fakeChannel.LocateChat)(id)
}

func (o faultyChannel) LinkMessage(chat channels.Chat, group bool, id string) string {
	return overridden(o.linkMessage, o.linkMessage != nil, o.fakeChannel.LinkMessage)(chat, group, id)
}

func (o faultyChannel) CheckChat(id string) error {
	return overridden(o.checkChat, o.checkChat != nil, o.fakeChannel.CheckChat)(id)
}

func (o faultyChannel) Resume(cursor string) {
	overridden(o.resume, o.resume != nil, o.fakeChannel.Resume)(cursor)
}

func (o faultyChannel) KeepCursor(keep func(ctx context.Context, cursor string) error) {
	overridden(o.keepCursor, o.keepCursor != nil, o.fakeChannel.KeepCursor)(keep)
}

func (o faultyChannel) Mount() (string, http.Handler) {
	return overridden(o.mount, o.mount != nil, o.fakeChannel.Mount)()
}

func (o faultyChannel) CloseStreams() {
	overridden(o.closeStreams, o.closeStreams != nil, o.fakeChannel.CloseStreams)()
}

func (o faultyChannel) Watched() bool {
	return overridden(o.watched, o.watched != nil, o.fakeChannel.Watched)()
}

func (o faultyChannel) Publish(event string, data any) {
	overridden(o.publish, o.publish != nil, o.fakeChannel.Publish)(event, data)
}

func (o faultyChannel) Health() error {
	return overridden(o.health, o.health != nil, o.fakeChannel.Health)()
}

func (o faultyChannel) SetMenu(commands []channels.Command) {
	overridden(o.setMenu, o.setMenu != nil, o.fakeChannel.SetMenu)(commands)
}

func (o faultyChannel) SetMenuSource(read channels.MenuSource) {
	overridden(o.setSource, o.setSource != nil, o.fakeChannel.SetMenuSource)(read)
}

func (o faultyChannel) SetChatMenu(ctx context.Context, chat channels.Chat, commands []channels.Command) error {
	return overridden(o.setChatMenu, o.setChatMenu != nil, o.fakeChannel.SetChatMenu)(ctx, chat, commands)
}

func (o faultyChannel) Examine(ctx context.Context, e channels.ExamineOptions) []channels.Finding {
	return overridden(o.examine, o.examine != nil, o.fakeChannel.Examine)(ctx, e)
}

func (o faultyChannel) Close() error {
	return overridden(o.close, o.close != nil, o.fakeChannel.Close)()
}

// withFault returns a constructor of channels with a faulty method.
func withFault(change func(f fakeChannel, o *faultyChannel)) func(*testing.T, fakeChannel) channels.Channel {
	return func(_ *testing.T, f fakeChannel) channels.Channel {
		o := faultyChannel{fakeChannel: f}
		change(f, &o)
		return o
	}
}

var optionalBreaches = slices.Concat(editBreaches, optionalDraftBreaches, optionalSendBreaches, optionalRunBreaches, serveBreaches)
