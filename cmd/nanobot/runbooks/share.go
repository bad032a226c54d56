package runbooks

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"nanobot/gateway/runbook"
	"nanobot/terminal"
)

// noChat stands for a runbook that was stored outside of chats.
const noChat = "none"

// storedEntry is a stored runbook in the output of ListStored.
type storedEntry struct {
	Name   string `json:"name"`
	Chat   string `json:"chat"`
	SeenBy string `json:"seen_by"`
	Hash   string `json:"runbook_hash"`
	Text   string `json:"text"`
}

func newStoredEntry(m runbook.Minted) storedEntry {
	e := storedEntry{m.Runbook.Label, m.Chat, "its chat", m.Runbook.Hash, m.Text}
	if e.Chat == "" {
		e.Chat = noChat
	}
	switch {
	case m.Shared && m.SharedAt.IsZero():
		e.SeenBy = "all chats, not shared by an operator"
	case m.Shared:
		e.SeenBy = "all chats"
	}
	return e
}

// ListStored prints the runbooks that agents have stored.
func ListStored(ctx context.Context, runs runbook.Runs, out io.Writer, asJSON bool) error {
	stored, unreadable := runs.ListAllMinted(ctx)
	entries := []storedEntry{}
	for _, m := range stored {
		entries = append(entries, newStoredEntry(m))
	}
	if asJSON {
		return errors.Join(writeLine(out, entries), unreadable)
	}
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "NAME\tCHAT\tSEEN BY\tHASH")
	for _, e := range entries {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", terminal.Clean(e.Name), terminal.Clean(e.Chat), e.SeenBy, e.Hash)
	}
	return errors.Join(w.Flush(), unreadable)
}

// Sharing names the runbook that is shared.
type Sharing struct {
	Name, Chat, Hash string // "": any chat, any hash
}

// Share shares a stored runbook with all chats and prints the text that is shared.
func Share(ctx context.Context, runs runbook.Runs, s Sharing, out io.Writer, asJSON bool) error {
	request := runbook.ShareRequest{Label: s.Name, Hash: s.Hash}
	if s.Chat != "" {
		chat := s.Chat
		if chat == noChat {
			chat = ""
		}
		request.Chat = &chat
	}
	m, err := runs.Share(ctx, request)
	if err != nil {
		return fmt.Errorf("%w; \"nanobot runbook list --stored\" lists the stored runbooks", err)
	}
	if asJSON {
		return writeLine(out, newStoredEntry(m))
	}
	_,
		err = fmt.Fprintf(out,
		"%s\n\nAll chats see this runbook now, and no agent replaces it. The hash of its text is\n%s\n",
		terminal.Visible(m.Text), m.Runbook.Hash)
	return err
}

// Unshare gives a shared runbook back to its chat.
func Unshare(ctx context.Context, runs runbook.Runs, name string, out io.Writer, asJSON bool) error {
	m, err := runs.Unshare(ctx, name)
	if err != nil {
		return err
	}
	e := newStoredEntry(m)
	if asJSON {
		return writeLine(out, e)
	}
	_, err = fmt.Fprintf(out, "Only the chat %s sees the runbook %s now.\n", terminal.Clean(e.Chat),
		terminal.Clean(e.Name))
	return err
}

// PrintKey prints the public key of the bot.
func PrintKey(ctx context.Context, runs runbook.Runs, out io.Writer, asJSON bool) error {
	key, err := runs.PublicKey(ctx)
	if err != nil {
		return err
	}
	if asJSON {
		return writeLine(out, map[string]string{"public_key": runbook.FormatKey(key)})
	}
	_, err = fmt.Fprintln(out, runbook.FormatKey(key))
	return err
}
