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

	Runbook Runbook `json:"-"`
}

// Source returns the source of the runbook, which determines its URIs.
func (m Minted) Source() Source { return MintedSource(m.Runbook.Label) }

// MintRequest is a runbook to be stored.
type MintRequest struct {
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

// ErrDuplicate means that there is a runbook with the same label.
var ErrDuplicate = errors.New("there is a runbook with this label")

func mintedKey(label string) string { return mintedPrefix + hashText(label) }

// Mint stores a runbook. The error is an *InvalidTextError, or ErrDuplicate together with the
// stored runbook. The caller checks that no runbook of the workspace has this label.
func (rs Runs) Mint(ctx context.Context, m MintRequest) (Minted, error) {
	book, mistakes, _ := Parse(m.Text)
	if len(mistakes) > 0 {
		return Minted{}, &InvalidTextError{mistakes}
	}
	minted := Minted{Version: runVersion, Text: book.Text, Model: m.Model, MintedAt: rs.env().Now.UTC(), Runbook: book}
	value, key := string(mustEncode(minted)), mintedKey(book.Label)
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
	m.Runbook = book
	return m, nil
}

// ListMinted returns the minted runbooks, sorted by label. The error names those that cannot be
// read.
func (rs Runs) ListMinted(ctx context.Context) ([]Minted, error) {
	values, err := rs.Records.ListRecords(ctx, mintedPrefix)
	if err != nil {
		return nil, err
	}
	all, broken := []Minted{}, []error{}
	for _, value := range values {
		m, err := decodeMinted(value)
		if err != nil {
			broken = append(broken, err)
			continue
		}
		all = append(all, m)
	}
	slices.SortFunc(all, func(a, b Minted) int { return strings.Compare(a.Runbook.Label, b.Runbook.Label) })
	return all, errors.Join(broken...)
}
