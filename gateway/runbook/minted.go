package runbook

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"
)

// Minted is a runbook that an agent has stored.
type Minted struct {
	Version  int       `json:"version"`
	Text     string    `json:"text"`
	Model    string    `json:"llm_model_id,omitempty"`
	MintedAt time.Time `json:"minted_at"`
	// Chat is the chat in which it was minted, as channel:id; "" if it was minted outside of chats.
	Chat string `json:"chat,omitempty"`
	// SharedAt is when an operator shared this text; zero if none did.
	SharedAt time.Time `json:"shared_at,omitzero"`

	Runbook Runbook `json:"-"`
	// Shared means that all chats see the runbook, and that no agent replaces it. This is also the
	// case for runbooks of versions that recorded no chat, which have no SharedAt.
	Shared bool `json:"-"`

	stored string // the record from which it was read
}

// Source returns the source of the runbook, which determines its URIs.
func (m Minted) Source() Source {
	if m.Shared {
		return SharedSource(m.Runbook.Label)
	}
	return MintedSource(m.Chat, m.Runbook.Label)
}

// MintRequest is a runbook to be stored.
type MintRequest struct {
	Chat  string // its owner; "" outside of chats
	Text  string
	Model string
	Force bool // replaces a runbook with the same label
}

// InvalidTextError means that a runbook's text has errors.
type InvalidTextError struct{ Problems []Problem }

// Error returns the first problem with its line.
func (e *InvalidTextError) Error() string {
	return fmt.Sprintf("line %d: %s", e.Problems[0].Line, e.Problems[0].Message)
}

var (
	// ErrDuplicate means that the chat has a runbook with the same label.
	ErrDuplicate = errors.New("there is a runbook with this label")
	// ErrShared means that a runbook of all chats has the same label.
	ErrShared = errors.New("a runbook with this label is shared with all chats")
)

func sharedKey(label string) string { return sharedPrefix + hashText(label) }

func chatPrefix(chat string) string { return ownedPrefix + hashText(chat) + "/" }

func ownedKey(chat, label string) string { return chatPrefix(chat) + hashText(label) }

// Mint stores a runbook of a chat. The error is an *InvalidTextError, or ErrDuplicate or ErrShared
// together with the stored runbook. The caller checks that no runbook of the workspace has this
// label.
func (rs Runs) Mint(ctx context.Context, m MintRequest) (Minted, error) {
	book, mistakes, _ := Parse(m.Text)
	if len(mistakes) > 0 {
		return Minted{}, &InvalidTextError{mistakes}
	}
	if shared, found, err := rs.loadShared(ctx, book.Label); err != nil || found {
		return shared, cmp.Or(err, ErrShared)
	}
	minted := Minted{
		Version: runVersion, Text: book.Text, Model: m.Model, MintedAt: rs.env().Now.UTC(), Chat: m.Chat,
		Runbook: book,
	}
	value, key := string(mustEncode(minted)), ownedKey(m.Chat, book.Label)
	for {
		old, err := rs.Records.LoadRecord(ctx, key)
		if err != nil {
			return Minted{}, err
		}
		if old != "" && !m.Force {
			stored, err := decodeMinted(old)
			return stored, cmp.Or(err, ErrDuplicate)
		}
		swapped, err := rs.Records.SwapRecord(ctx, key, old, value)
		if err != nil || swapped {
			return minted, err
		}
	}
}

func decodeMinted(value string) (Minted, error) {
	var m Minted
	if err := json.Unmarshal([]byte(value), &m); err != nil {
		return Minted{}, fmt.Errorf("read minted runbook: %w", err)
	}
	book, mistakes, _ := Parse(m.Text)
	if m.Version != runVersion || len(mistakes) > 0 {
		return Minted{}, fmt.Errorf("read minted runbook %s: %w", book.Label, errDamaged)
	}
	m.Runbook, m.stored = book, value
	return m, nil
}

// ListMinted returns the minted runbooks that a chat sees: its own and the shared ones, sorted by
// label. The error names those that cannot be read.
func (rs Runs) ListMinted(ctx context.Context, chat string) ([]Minted, error) {
	return rs.listMinted(ctx, sharedPrefix, chatPrefix(chat))
}

// ListAllMinted is ListMinted for all chats together.
func (rs Runs) ListAllMinted(ctx context.Context) ([]Minted, error) {
	return rs.listMinted(ctx, sharedPrefix, ownedPrefix)
}

func (rs Runs) listMinted(ctx context.Context, prefixes ...string) ([]Minted, error) {
	all, broken := []Minted{}, []error{}
	for _, prefix := range prefixes {
		values, err := rs.Records.ListRecords(ctx, prefix)
		if err != nil {
			return nil, err
		}
		for _, value := range values {
			m, err := decodeMinted(value)
			if err != nil {
				broken = append(broken, err)
				continue
			}
			m.Shared = prefix == sharedPrefix
			all = append(all, m)
		}
	}
	slices.SortFunc(all, func(a, b Minted) int {
		return cmp.Or(strings.Compare(a.Runbook.Label, b.Runbook.Label), strings.Compare(a.Chat, b.Chat))
	})
	return all, errors.Join(broken...)
}
