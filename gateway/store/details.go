package store

import (
	"context"
	"strings"
)

// MaxDetails is the most bytes of details that are stored for a turn.
const MaxDetails = 16 << 10

// Details are the steps of ended turns, which people can ask for. They are stored as long as the
// inbound message.
type Details interface {
	// SaveDetails replaces the details of an inbound message. Text beyond MaxDetails is cut off at
	// the end of a line, if there is one. It has no effect if the inbound message was pruned.
	SaveDetails(ctx context.Context, inbound int64, text string) error
	// LoadDetails returns the details of an inbound message, or "".
	LoadDetails(ctx context.Context, inbound int64) (string, error)
	// ReplaceFold records, before it is posted, that a message replaces the board of a pending
	// fold.
	ReplaceFold(ctx context.Context, inbound int64) error
	// EndFold removes the record of a board, if it has an ID, and ends the pending fold of its
	// turn. The details stay.
	EndFold(ctx context.Context, board Transient) error
}

// Fold is what stays of the board of an ended turn.
type Fold struct {
	Summary string // one line
	Details string // up to MaxDetails
	// Required says that Details has content that no message has.
	Required bool
}

// PendingFold is a fold that the network has not confirmed.
type PendingFold struct {
	Fold
	Board     Transient // without an ID if none is recorded
	MessageID string    // the network's ID of the inbound message
	Language  string    // of its sender
	Replaced  bool      // ReplaceFold was called
}

// CutDetails returns details without the text beyond MaxDetails.
func CutDetails(text string) string {
	const mark = "\n…"
	if len(text) <= MaxDetails {
		return text
	}
	cut := text[:MaxDetails-len(mark)]
	if end := strings.LastIndexByte(cut, '\n'); end > 0 {
		return cut[:end] + mark
	}
	return strings.ToValidUTF8(cut, "") + mark // the cut may be within a character
}
