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
)

// has reports whether the network shows a message.
func (n *network) has(id, text string) bool {
	return locked(n, func() bool {
		for _, s := range n.shown {
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
		bend: strange(func(f fake, o *odd) {
			o.edit = func(ctx context.Context, _ string, m channels.Outgoing) error {
				last := locked(f.net, func() string { return f.net.shown[len(f.net.shown)-1].id })
				return f.Edit(ctx, last, m)
			}
		}),
	},
	{
		name:  "Edit sends a new message",
		fails: []string{editsOne, editsSame, editsRemoved},
		bend: strange(func(f fake, o *odd) {
			o.edit = func(ctx context.Context, _ string, m channels.Outgoing) error {
				_, err := f.Send(ctx, m)
				return err
			}
		}),
	},
	{
		name:  "Edit without a change is an error",
		fails: []string{editsSame},
		bend: strange(func(f fake, o *odd) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				if f.net.has(id, m.Text) {
					return &channels.SendError{Err: errors.New("not modified"), Permanent: true}
				}
				return f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Edit of a removed message may be tried again",
		fails: []string{editsRemoved},
		bend: strange(func(f fake, o *odd) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				if !f.net.has(id, "") {
					return errMissing
				}
				return f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Edit of a removed message reports success",
		fails: []string{editsRemoved},
		bend: strange(func(f fake, o *odd) {
			o.edit = func(ctx context.Context, id string, m channels.Outgoing) error {
				_ = f.Edit(ctx, id, m)
				return nil
			}
		}),
	},
	{
		name:  "Remove deletes all messages",
		fails: []string{editsRemoved, removesOne, removesTwice},
		bend: strange(func(f fake, o *odd) {
			o.remove = func(context.Context, channels.Chat, string) error {
				return locked(f.net, func() error { f.net.shown = nil; return nil })
			}
		}),
	},
	{
		name:  "Remove deletes nothing",
		fails: []string{editsRemoved, removesOne, removesTwice, removesLater, replacesGone},
		bend: strange(func(_ fake, o *odd) {
			o.remove = func(context.Context, channels.Chat, string) error { return nil }
		}),
	},
	{
		name:  "Remove of a removed message is an error",
		fails: []string{removesTwice},
		bend: strange(func(f fake, o *odd) {
			o.remove = func(ctx context.Context, chat channels.Chat, id string) error {
				if !f.net.has(id, "") {
					return errMissing
				}
				return f.Remove(ctx, chat, id)
			}
		}),
	},
	{
		name:  "Remove knows only messages of its own run",
		fails: []string{removesLater},
		bend: strange(func(f fake, o *odd) {
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
		name:  "Replace sends a new message",
		fails: []string{replacesTwice, replacesGone},
		bend: strange(func(f fake, o *odd) {
			o.replace = func(ctx context.Context, _ string, m channels.Outgoing) (channels.Receipt, error) {
				return f.Send(ctx, m)
			}
		}),
	},
	{
		name:  "Replace gives another receipt",
		fails: []string{replacesTwice},
		bend: strange(func(f fake, o *odd) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				return channels.Receipt{ID: id + "-replaced"}, f.Edit(ctx, id, m)
			}
		}),
	},
	{
		name:  "Replace does not say that a message is gone",
		fails: []string{replacesGone},
		bend: strange(func(f fake, o *odd) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				if !f.net.has(id, "") {
					return channels.Receipt{}, &channels.SendError{Err: errMissing, Permanent: true}
				}
				return f.Replace(ctx, id, m)
			}
		}),
	},
	{
		name:  "Replace of a removed message may be tried again",
		fails: []string{replacesGone},
		bend: strange(func(f fake, o *odd) {
			o.replace = func(ctx context.Context, id string, m channels.Outgoing) (channels.Receipt, error) {
				if !f.net.has(id, "") {
					return channels.Receipt{}, channels.ErrGone
				}
				return f.Replace(ctx, id, m)
			}
		}),
	},
}
