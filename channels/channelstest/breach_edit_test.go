package channelstest

import (
	"context"
	"errors"
	"sync"

	"nanobot/channels"
)

const (
	editsOne      = "Editor: Edit changes one message"
	editsSame     = "Editor: the same text again is no error"
	editsRemoved  = "Editor: a removed message cannot be edited"
	removesOne    = "Editor: Remove deletes one message"
	removesTwice  = "Editor: Remove of a removed message is no error"
	removesLater  = "Editor: Remove works after a restart"
	replacesTwice = "Replacer: Replace lasts and may be repeated"
	replacesGone  = "Replacer: a removed message is ErrGone"
	closes        = "QuestionCloser: a closed question has no buttons"
)

// isVisible reports whether the network shows a message.
func (n *network) isVisible(id, text string) bool {
	return withLock(n, func() bool {
		for _, s := range n.visible {
			if s.id == id && (text == "" || s.text == text) {
				return true
			}
		}
		return false
	})
}

var errMissing = errors.New("there is no such message")

var editBreaches = []breach{
	{
		name:  "Edit changes the newest message",
		fails: []string{editsOne, editsRemoved},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.edit = func(ctx context.Context, _ string, m channels.Outgoing) error {
				last := withLock(f.net, func() string { return f.net.visible[len(f.net.visible)-1].id })
				return f.Edit(ctx, last, m)
			}
		}),
	},
	{
		name:  "Edit sends a new message",
		fails: []string{editsOne, editsSame, editsRemoved},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.edit = func(ctx context.Context, _ string, m channels.Outgoing) error {
				_, err := f.Send(ctx, m)
				return err
			}
		}),
	},
	{
		name:  "Edit without a change is an error",
		fails: []string{editsSame},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				if f.net.isVisible(id, m.Text) {
					return &channels.SendError{Err: errors.New("not modified"), Permanent: true}
				}
				return f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Edit of a removed message returns a temporary error",
		fails: []string{editsRemoved},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				if !f.net.isVisible(id, "") {
					return errMissing
				}
				return f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Edit of a removed message reports success",
		fails: []string{editsRemoved},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				_ = f.Edit(ctx, id, m)
				return nil
			}
		}),
	},
	{
		name:  "Remove deletes all messages",
		fails: []string{editsRemoved, removesOne, removesTwice},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.remove = func(context.Context, channels.Chat, string) error {
				return withLock(f.net, func() error { f.net.visible = nil; return nil })
			}
		}),
	},
	{
		name:  "Remove deletes nothing",
		fails: []string{editsRemoved, removesOne, removesTwice, removesLater, replacesGone},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.remove = func(context.Context, channels.Chat, string) error { return nil }
		}),
	},
	{
		name:  "Remove of a removed message is an error",
		fails: []string{removesTwice},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.remove = func(ctx context.Context, chat channels.Chat, id string) error {
				if !f.net.isVisible(id, "") {
					return errMissing
				}
				return f.Remove(ctx, chat, id)
			}
		}),
	},
	{
		name:  "Remove works only for messages of the same run",
		fails: []string{removesLater},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			var mine sync.Map
			o.send = func(ctx context.Context, m channels.Outgoing) (channels.Receipt, error) {
				receipt, err := f.Send(ctx, m)
				mine.Store(receipt.ID, true)
				return receipt, err
			}
			o.remove = func(ctx context.Context, chat channels.Chat, id string) error {
				if _, ok := mine.Load(id); !ok {
					return errMissing
				}
				return f.Remove(ctx, chat, id)
			}
		}),
	},
	{
		name:  "a closed question keeps its buttons",
		fails: []string{closes},
		build: withFault(func(_ fakeChannel, o *faultyChannel) {
			o.closeAsked = func(context.Context, channels.Chat, string, string) error { return nil }
		}),
	},
	{
		name:  "an unknown question is closed without an error",
		fails: []string{closes},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.closeAsked = func(ctx context.Context, chat channels.Chat, id, outcome string) error {
				_ = f.CloseQuestion(ctx, chat, id, outcome)
				return nil
			}
		}),
	},
	{
		name:  "Replace sends a new message",
		fails: []string{replacesTwice, replacesGone},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.replace = func(ctx context.Context, _ string, m channels.Outgoing) (channels.Receipt, error) {
				return f.Send(ctx, m)
			}
		}),
	},
	{
		name:  "Replace returns another receipt",
		fails: []string{replacesTwice},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				return channels.Receipt{ID: id + "-replaced"}, f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Replace of a removed message does not return ErrGone",
		fails: []string{replacesGone},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				if !f.net.isVisible(id, "") {
					return channels.Receipt{}, &channels.SendError{Err: errMissing, Permanent: true}
				}
				return f.Replace(ctx, id, m)
			}
		}),
	},
	{
		name:  "Replace of a removed message returns a temporary error",
		fails: []string{replacesGone},
		build: withFault(func(f fakeChannel, o *faultyChannel) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				if !f.net.isVisible(id, "") {
					return channels.Receipt{}, channels.ErrGone
				}
				return f.Replace(ctx, id, m)
			}
		}),
	},
}
