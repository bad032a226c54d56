package runbook

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"
)

// errChanged means that another process has changed a minted runbook meanwhile.
var errChanged = errors.New("the runbook was changed at the same moment; try again")

// ShareRequest names the runbook that an operator shares.
type ShareRequest struct {
	Label string
	Chat  *string // the chat that has minted it; nil: whichever has
	Hash  string  // the hash that the text must have; "": any
}

// Share makes the minted runbook of a chat one of all chats, with exactly its present text. The
// chat has it no longer as its own.
func (rs Runs) Share(ctx context.Context, s ShareRequest) (Minted, error) {
	m, ofAll, err := rs.loadShared(ctx, s.Label)
	switch {
	case err != nil:
		return m, err
	case ofAll && !m.SharedAt.IsZero():
		return m, ErrShared
	case !ofAll:
		if m, err = rs.findOwned(ctx, s); err != nil {
			return m, err
		}
	}
	if s.Hash != "" && !strings.EqualFold(s.Hash, m.Runbook.Hash) {
		return m, fmt.Errorf("the text of %q has the hash %s", s.Label, m.Runbook.Hash)
	}
	before, old := m.stored, ""
	if ofAll {
		old = before
	}
	m.SharedAt, m.Shared = rs.env().Now.UTC(), true
	if err := rs.swap(ctx, sharedKey(s.Label), old, string(mustEncode(m))); err != nil || ofAll {
		return m, err
	}
	// If the chat replaces its runbook at this moment, it keeps the new one.
	_, err = rs.Records.SwapRecord(ctx, ownedKey(m.Chat, s.Label), before, "")
	return m, err
}

// Unshare makes a shared runbook one of the chat in which it was minted. It is an error if that has
// another one with this label by now.
func (rs Runs) Unshare(ctx context.Context, label string) (Minted, error) {
	m, found, err := rs.loadShared(ctx, label)
	if err == nil && !found {
		err = fmt.Errorf("no runbook %q is shared", label)
	}
	if err != nil {
		return m, err
	}
	m.SharedAt, m.Shared = time.Time{}, false
	owned := string(mustEncode(m))
	if _, err := rs.Records.SwapRecord(ctx, ownedKey(m.Chat, label), "", owned); err != nil {
		return m, err
	}
	left, err := rs.Records.LoadRecord(ctx, ownedKey(m.Chat, label))
	if err == nil && left != owned { // an earlier call may have stored it and not come further
		err = fmt.Errorf("chat %q has another runbook %q by now, which must be deleted first", m.Chat, label)
	}
	if err != nil {
		return m, err
	}
	return m, rs.swap(ctx, sharedKey(label), m.stored, "")
}

// IsVouchedFor reports whether people stand behind the text of a run: it is from the workspace's
// folder, or an operator has shared exactly this text.
func (rs Runs) IsVouchedFor(ctx context.Context, r Run) (bool, error) {
	if r.Source.IsWorkspace() {
		return true, nil
	}
	m, found, err := rs.loadShared(ctx, r.book.Label)
	return found && !m.SharedAt.IsZero() && m.Text == r.Text, err
}

// loadShared returns the runbook of all chats with a label.
func (rs Runs) loadShared(ctx context.Context, label string) (m Minted, found bool, err error) {
	value, err := rs.Records.LoadRecord(ctx, sharedKey(label))
	if err != nil || value == "" {
		return m, false, err
	}
	m, err = decodeMinted(value)
	m.Shared = true
	return m, err == nil, err
}

// findOwned returns the only runbook of a chat that a request can mean.
func (rs Runs) findOwned(ctx context.Context, s ShareRequest) (Minted, error) {
	all, err := rs.listMinted(ctx, ownedPrefix)
	if all == nil {
		return Minted{}, err
	}
	var found []Minted
	var chats []string
	for _, m := range all {
		if m.Runbook.Label == s.Label && (s.Chat == nil || *s.Chat == m.Chat) {
			found, chats = append(found, m), append(chats, fmt.Sprintf("%q", m.Chat))
		}
	}
	switch len(found) {
	case 0:
		return Minted{}, fmt.Errorf("no such chat has stored a runbook %q", s.Label)
	case 1:
		return found[0], nil
	}
	return Minted{}, fmt.Errorf("several chats have stored a runbook %q: %s", s.Label, strings.Join(chats, ", "))
}

// swap replaces a record. The error is errChanged if another process was faster.
func (rs Runs) swap(ctx context.Context, key, old, value string) error {
	swapped, err := rs.Records.SwapRecord(ctx, key, old, value)
	if err == nil && !swapped {
		err = errChanged
	}
	return err
}
