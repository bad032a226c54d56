package channels

import (
	"slices"
	"strings"
)

// Piece is one of the network's messages that an incoming message was made of, such as a picture of
// an album. The texts of the pieces follow each other in Text, and their files in Media; a text
// begins with the newline that separates it from the one before, if there is one. What follows the
// text of the last piece belongs to no piece.
type Piece struct {
	ID        string `json:"id"`
	Bytes     int    `json:"bytes,omitempty"` // the length of its text
	Media     int    `json:"media,omitempty"` // the number of its files
	Forwarded bool   `json:"forwarded,omitempty"`
}

// Join returns two messages of one person as one, with a separator between their texts. The result
// has the ID of the first.
func Join(first, second Incoming, separator string) Incoming {
	joined := first
	if first.Text != "" && second.Text != "" {
		second.Text = separator + second.Text
	}
	joined.Text = first.Text + second.Text
	if first.MediaNames != nil || second.MediaNames != nil {
		joined.MediaNames = slices.Concat(paddedNames(first), paddedNames(second))
	}
	joined.Media = slices.Concat(first.Media, second.Media)
	joined.Pieces = slices.Concat(first.piecesOrWhole(), second.piecesOrWhole())
	if joined.ReplyTo == nil {
		joined.ReplyTo = second.ReplyTo
	}
	if joined.Forwarded == nil {
		joined.Forwarded = second.Forwarded
	}
	return joined
}

// paddedNames returns the names of a message's files, "" for those without one.
func paddedNames(in Incoming) []string {
	return append(slices.Clone(in.MediaNames), make([]string, len(in.Media)-len(in.MediaNames))...)
}

func (in Incoming) piecesOrWhole() []Piece {
	if in.Pieces == nil {
		return []Piece{{ID: in.ID, Bytes: len(in.Text), Media: len(in.Media), Forwarded: in.Forwarded != nil}}
	}
	pieces := slices.Clone(in.Pieces)
	_, rest := in.pieceTexts()
	pieces[len(pieces)-1].Bytes += len(rest) // otherwise it would belong to the next piece
	return pieces
}

// Introduces reports whether the message is a text of its sender, alone or with messages that were
// joined to it, so that another may belong to it.
func (in Incoming) Introduces() bool {
	first := in.piecesOrWhole()[0]
	return in.Press == "" && !in.Pressed && first.Bytes > 0 && first.Media == 0 && !first.Forwarded
}

// Comment returns the words with which the sender introduces a forwarded text, or "".
func (in Incoming) Comment() string {
	texts, _ := in.pieceTexts()
	var own string
	for i, p := range in.Pieces {
		if p.Forwarded {
			return own
		}
		own += texts[i]
	}
	return ""
}

// ApplyEdit returns the message with the new content of an edit. An edit of a piece changes only
// the text of that piece.
func (in Incoming) ApplyEdit(edit Incoming) Incoming {
	in.Change, in.ChangedAt, in.Workspace, in.Worktree = Edited, edit.ChangedAt, edit.Workspace, edit.Worktree
	in.Command = edit.Command
	at := in.findPiece(edit.ID)
	if at < 0 && edit.ID != in.ID { // a part of an album from before pieces were stored
		return in
	}
	if at < 0 {
		in.Text = edit.Text
		if edit.Media != nil {
			in.Media, in.MediaNames = edit.Media, edit.MediaNames
		}
		return in
	}
	texts, rest := in.pieceTexts()
	text := edit.Text
	if at > 0 && text != "" && (texts[at] == "" || strings.HasPrefix(texts[at], "\n")) {
		text = "\n" + text
	}
	texts[at] = text
	return in.withPieceTexts(in.Pieces, texts, rest)
}

// SameContent reports whether two messages have the same text and files, for the same place.
func (in Incoming) SameContent(other Incoming) bool {
	return in.Text == other.Text && slices.Equal(in.Media, other.Media) && in.SamePlace(other)
}

// WithRest returns the message without the beginning of its text, so that rest remains.
func (in Incoming) WithRest(rest string) Incoming {
	in.Pieces = slices.Clone(in.Pieces)
	removed := len(in.Text) - len(rest)
	for i := range in.Pieces {
		n := min(removed, in.Pieces[i].Bytes)
		in.Pieces[i].Bytes -= n
		removed -= n
	}
	in.Text = rest
	return in
}

// Without returns the message without the piece with this ID, which was deleted. It reports false
// if nothing of the message is left.
func (in Incoming) Without(id string) (Incoming, bool) {
	at := in.findPiece(id)
	if at < 0 || len(in.Pieces) == 1 {
		return in, false
	}
	media := 0
	for _, p := range in.Pieces[:at] {
		media += p.Media
	}
	if in.MediaNames != nil {
		in.MediaNames = slices.Delete(paddedNames(in), media, media+in.Pieces[at].Media)
	}
	in.Media = slices.Delete(slices.Clone(in.Media), media, media+in.Pieces[at].Media)
	texts, rest := in.pieceTexts()
	return in.withPieceTexts(slices.Delete(slices.Clone(in.Pieces), at, at+1), slices.Delete(texts, at, at+1), rest), true
}

func (in Incoming) findPiece(id string) int {
	return slices.IndexFunc(in.Pieces, func(p Piece) bool { return p.ID == id })
}

// pieceTexts returns the texts of the pieces, and the text after them.
func (in Incoming) pieceTexts() (texts []string, rest string) {
	rest = in.Text
	for _, p := range in.Pieces {
		n := min(p.Bytes, len(rest))
		texts, rest = append(texts, rest[:n]), rest[n:]
	}
	return texts, rest
}

// withPieceTexts returns the message with other pieces. The first text needs no separator.
func (in Incoming) withPieceTexts(pieces []Piece, texts []string, rest string) Incoming {
	in.Pieces = slices.Clone(pieces)
	all := ""
	for i, text := range texts {
		if all == "" {
			text = strings.TrimPrefix(text, "\n")
		}
		in.Pieces[i].Bytes = len(text)
		all += text
	}
	if all == "" {
		rest = strings.TrimPrefix(rest, "\n")
	}
	in.Text = all + rest
	return in
}
