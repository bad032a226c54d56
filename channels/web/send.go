package web

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"strings"

	"nanobot/channels"
	"nanobot/channels/web/history"
)

// fromUser and fromBot are who speaks.
const (
	fromUser = "user"
	fromBot  = "bot"
)

// Repeatable says that a second Send with the same Key has no second effect.
func (c *Channel) Repeatable() bool { return true }

// Send keeps a message and shows it to those who watch. Progress that nobody asks to keep, and
// drafts, are only shown.
func (c *Channel) Send(ctx context.Context, o channels.Outgoing) (channels.Receipt, error) {
	if err := ctx.Err(); err != nil {
		return channels.Receipt{}, err
	}
	if o.Kind == channels.Draft || o.Kind == channels.Progress && o.Key == "" && len(o.Media) == 0 {
		id := newID()
		return channels.Receipt{ID: id}, c.show(ctx, id, o)
	}
	h, err := c.history()
	if err != nil {
		return channels.Receipt{}, err
	}
	d := history.Draft{
		Chat: o.Chat.ID, By: history.Party{All: true}, Type: history.Message, ID: newID(),
		Body: history.Body{From: fromBot, Kind: string(o.Kind), Text: o.Text, Buttons: o.Buttons, ReplyTo: o.ReplyTo},
	}
	if d.Terminal, err = terminalOf(o); err != nil {
		return channels.Receipt{}, &channels.SendError{Err: err, Permanent: true}
	}
	if strings.HasPrefix(d.ReplyTo, pressPrefix) { // which nobody sees
		d.ReplyTo = ""
	}
	if o.Key != "" {
		d.Key = history.BotKey + o.Key
		if e, found, err := h.Key(ctx, d.Key); found || err != nil { // before its files are copied once more
			return channels.Receipt{ID: e.ID}, err
		}
	}
	if d.Media, err = c.keepAll(ctx, h, o.Media); err != nil {
		return channels.Receipt{}, err
	}
	e, fresh, err := h.Append(ctx, d)
	if !fresh {
		h.Discard(d.Media)
	}
	return channels.Receipt{ID: e.ID}, err
}

// keepAll copies the files of a message.
func (c *Channel) keepAll(ctx context.Context, h *history.History, files []channels.File) (kept []history.Media, err error) {
	defer func() {
		if err != nil {
			h.Discard(kept)
		}
	}()
	for _, f := range files {
		m, err := c.keep(ctx, h, f)
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
	return kept, h.Settle()
}

func (c *Channel) keep(ctx context.Context, h *history.History, f channels.File) (history.Media, error) {
	if f.Path == "" {
		return store(h, f.Name, strings.NewReader(f.Content))
	}
	file, err := os.Open(f.Path)
	if errors.Is(err, fs.ErrNotExist) {
		return history.Media{}, &channels.SendError{Err: err, Permanent: true}
	}
	if err != nil {
		return history.Media{}, err
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		return history.Media{}, err
	}
	return c.copyFile(ctx, h, f.Name, file, info.Size())
}

// copyFile puts the copy of a file on disk, without its holes and only if there is room for it.
func (c *Channel) copyFile(ctx context.Context, h *history.History, name string, from *os.File, size int64) (history.Media, error) {
	id, file, err := h.Create()
	if err != nil {
		return history.Media{}, err
	}
	defer file.Close()
	m := history.Media{ID: id, Name: name, Size: size}
	if err := c.room.Copy(ctx, file, from, size, nil); err != nil {
		return m, fmt.Errorf("copy %q: %w", name, err)
	}
	describe(file, &m)
	return m, errors.Join(file.Sync(), file.Close())
}

// store puts a file on disk and finds out what it is.
func store(h *history.History, name string, content io.Reader) (history.Media, error) {
	id, file, err := h.Create()
	if err != nil {
		return history.Media{}, err
	}
	defer file.Close()
	m := history.Media{ID: id, Name: name}
	if m.Size, err = io.Copy(file, content); err != nil {
		return m, fmt.Errorf("copy %q: %w", name, err)
	}
	describe(file, &m)
	return m, errors.Join(file.Sync(), file.Close())
}
