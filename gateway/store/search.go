package store

import (
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"nanobot/channels"
)

// SearchFilter selects messages of a chat by words.
type SearchFilter struct {
	Chat channels.Chat
	// Text has the words that a message must all have, in any order, case and with any diacritics.
	// Of the last one, the beginning is enough. A text without words finds nothing. Words beyond
	// MaxSearchWords are ignored, and so are those of a message behind its first 65,536 characters.
	Text string
	// Conversation says that only the messages since the last new conversation are searched.
	Conversation bool
	Limit        int
}

// MaxSearchWords bounds the words of a search.
const MaxSearchWords = 16

// Found is a message that a search has found. Its text is cut where its words are ignored.
type Found struct {
	Entry
	User    channels.User // the author of a message of Role user
	Agent   string        // of the turn
	Message string        // the network's ID of the message, of its first part; "": unknown
}

// SearchWords splits a text into at most limit words. A word has letters and digits of any script.
func SearchWords(text string, limit int) []string {
	text = strings.Map(func(r rune) rune {
		switch {
		case r >= 0x300 && r <= 0x36f: // combining diacritics without a composed letter
			return -1
		case unicode.In(r, unicode.L, unicode.N) && !unicode.Is(formerMarks, r):
			return r
		}
		return ' '
	}, norm.NFC.String(text))
	words := strings.Fields(text)
	return words[:min(len(words), limit)]
}

// formerMarks are letters that were marks in the Unicode version of SQLite, which splits words at
// them.
var formerMarks = &unicode.RangeTable{R16: []unicode.Range16{
	{Lo: 0x19b0, Hi: 0x19c9, Stride: 1}, {Lo: 0x1cf2, Hi: 0x1cf3, Stride: 1},
}}
