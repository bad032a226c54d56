package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// fromUser and fromBot are the senders of messages.
const (
	fromUser = "user"
	fromBot  = "bot"
)

// Repeatable reports that Send is idempotent per Key.
func (c *Channel) Repeatable() bool { return true }

// chatError returns the error of a call about a chat for the gateway.
func chatError(err error) error {
	if errors.Is(err, history.ErrDeleted) {
		return &channels.SendError{Err: err, Permanent: true, Closed: true}
	}
	return err
}

// Send stores a message and sends it to all watchers. Drafts, and progress that is transient or has
// no key, are not stored.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, err
	}
	if o.Kind == channels.Draft || o.Kind == channels.Progress && (o.Transient || o.Key == "") && len(o.Media) == 0 {
		id := newID()
		return channels.Receipt{ID: id}, c.showTransient(ctx, id, o)
	}
	h, err := c.openHistory()
	if err != nil {
		return channels.Receipt{}, err
	}
	d, err := newBotEvent(newID(), o)
	if err != nil {
		return channels.Receipt{}, err
	}
	if o.Key != "" {
		d.Key = history.BotKeyPrefix + o.Key
		if e, found, err := h.EventByKey(ctx, d.Key); found || err != nil { // before its files are copied again
			return channels.Receipt{ID: e.ID}, err
		}
	}
	if _, _, err := h.ChatOwner(ctx, o.Chat.ID); err != nil {
		return channels.Receipt{}, chatError(err)
	}
	files := slices.Clone(o.Media)
	for i := range files { // an agent may return what a person has sent
		if files[i].Name, err = h.OriginalName(ctx, o.Chat.ID, files[i].Name); err != nil {
			return channels.Receipt{}, err
		}
	}
	if d.Media, err = c.saveFiles(ctx, h, files); err != nil {
		return channels.Receipt{}, err
	}
	e, added, err := h.Append(ctx, d)
	if !added {
		h.RemoveFiles(d.Media)
	}
	return channels.Receipt{ID: e.ID}, chatError(err)
}

// newBotEvent returns the event of a message of the bot, without its files.
func newBotEvent(id string, o channels.Outgoing) (history.NewEvent, error) {
	d := history.NewEvent{
		Chat: o.Chat.ID, Actor: history.Actor{All: true}, Type: history.Message, ID: id,
		Body: history.Body{
			From: fromBot, Kind: string(o.Kind), Text: o.Text, Format: o.Format, Details: o.Details,
			Buttons: o.Buttons, ReplyTo: messageID(o.ReplyTo), Silent: o.Silent,
		},
	}
	var err error
	if d.Terminal, err = decodeTerminal(o); err != nil {
		return d, &channels.SendError{Err: err, Permanent: true}
	}
	if _, pressed := channels.ParsePressID(d.ReplyTo); pressed { // presses are not shown
		d.ReplyTo = ""
	}
	return d, nil
}

// saveFiles copies the files of a message into the history.
func (c *Channel) saveFiles(ctx context.Context, h *history.History, files []channels.File) (
	kept []history.Media, err error,
) {
	defer func() {
		if err != nil {
			h.RemoveFiles(kept)
		}
	}()
	for _, f := range files {
		m, err := c.saveFile(ctx, h, f)
		if m.ID != "" {
			kept = append(kept, m)
		}
		if err != nil {
			return kept, err
		}
	}
	if len(kept) == 0 {
		return nil, nil
	}
	return kept, h.SyncFiles()
}

// saveFile copies a file and detects its type. One on disk is copied if there is enough free space.
func (c *Channel) saveFile(ctx context.Context, h *history.History, f channels.File) (history.Media, error) {
	size := int64(len(f.Content))
	write := func(to *os.File) error {
		_, err := io.WriteString(to, f.Content)
		return err
	}
	if f.Path != "" {
		from, err := os.Open(f.Path)
		if errors.Is(err, fs.ErrNotExist) {
			return history.Media{}, &channels.SendError{Err: err, Permanent: true}
		}
		if err != nil {
			return history.Media{}, err
		}
		defer from.Close()
		info, err := from.Stat()
		if err != nil {
			return history.Media{}, err
		}
		size = info.Size()
		write = func(to *os.File) error { return c.diskSpace.Copy(ctx, to, from, size, nil) }
	}
	id, file, err := h.CreateFile()
	if err != nil {
		return history.Media{}, err
	}
	defer file.Close()
	m := history.Media{ID: id, Name: f.Name, Size: size}
	if err := write(file); err != nil {
		return m, fmt.Errorf("copy %q: %w", f.Name, err)
	}
	detectType(file, &m)
	return m, errors.Join(file.Sync(), file.Close())
}
