package history

import (
	"context"
	"database/sql"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode"
	"unicode/utf8"
)

// Found is a message, or a chat by its title, with all words of a search.
type Found struct {
	Chat  string `json:"chat"`
	Title string `json:"title"` // of the chat
	// Seq and Message are the number and the ID of the message; 0 and "": the title has the words.
	Seq     int64     `json:"seq,omitempty"`
	Message string    `json:"message,omitempty"`
	Excerpt string    `json:"excerpt,omitempty"`
	Time    time.Time `json:"time"`
}

const (
	// maxSearchWords bounds the words of a search.
	maxSearchWords = 10
	// excerptBefore and excerptAfter are how many characters an excerpt has around the first word.
	excerptBefore, excerptAfter = 40, 110
)

// SearchWords returns the words of a search as Search compares them.
func SearchWords(query string) []string {
	words := strings.Fields(strings.ToLower(query))
	return words[:min(len(words), maxSearchWords)]
}

// Search finds all words, in any order and case, in the titles and the messages of the chats that
// the actor may see: the chats with the newest messages first, and in each the newest messages
// first. There is no index: reading the messages takes less than a second for 100,000 of them, and
// an index would have to be rid of removed secrets. more says that there may be more than limit, or
// that ctx has ended before all was read.
func (h *History) Search(ctx context.Context, p Actor, words []string, limit int) (
	found []Found, more bool, err error,
) {
	if len(words) == 0 {
		return nil, false, nil
	}
	chats, err := h.Chats(ctx, p, math.MaxInt32)
	for _, c := range chats {
		if err != nil || len(found) > limit {
			break
		}
		if containsAll(strings.ToLower(c.Title), words) {
			found = append(found, Found{Chat: c.ID, Title: c.Title, Time: c.Updated})
		}
		found, err = h.searchChat(ctx, c, words, found, limit+1)
	}
	if errors.Is(ctx.Err(), context.DeadlineExceeded) {
		return found[:min(len(found), limit)], true, nil
	}
	return found[:min(len(found), limit)], len(found) > limit, err
}

// searchChat adds the messages of a chat with all words, up to a number of results.
func (h *History) searchChat(ctx context.Context, c Chat, words []string, found []Found, most int) ([]Found, error) {
	var query strings.Builder
	query.WriteString("SELECT e.seq, e.id, e.time, e.body FROM events e WHERE e.chat = $1 AND e.type = 'message'")
	args := []any{c.ID}
	for _, word := range words {
		args = append(args, likePattern(word))
		fmt.Fprintf(&query, " AND "+bodyText+" $%d", len(args))
	}
	query.WriteString(" ORDER BY e.seq DESC")
	rows, err := h.read.QueryContext(ctx, query.String(), args...)
	if err != nil {
		return found, fmt.Errorf("search: %w", err)
	}
	defer rows.Close() //nolint:errcheck // Err says it
	for len(found) < most && rows.Next() {
		f := Found{Chat: c.ID, Title: c.Title}
		var millis int64
		var raw sql.RawBytes
		if err := rows.Scan(&f.Seq, &f.Message, &millis, &raw); err != nil {
			return found, fmt.Errorf("search: %w", err)
		}
		var b Body
		if err := json.Unmarshal(raw, &b); err != nil {
			return found, fmt.Errorf("read event %d: %w", f.Seq, err)
		}
		parts := []string{b.Text}
		for _, m := range b.Media {
			parts = append(parts, m.Name)
		}
		text := strings.Join(parts, "\n")
		if lower := strings.ToLower(text); containsAll(lower, words) {
			f.Time, f.Excerpt = time.UnixMilli(millis).UTC(), excerpt(text, lower, words[0])
			found = append(found, f)
		}
	}
	return found, rows.Err()
}

func containsAll(lower string, words []string) bool {
	for _, word := range words {
		if !strings.Contains(lower, word) {
			return false
		}
	}
	return true
}

// likePattern returns a pattern that the JSON of each text with a word matches. LIKE ignores the
// case of ASCII letters only, and JSON escapes some characters.
func likePattern(word string) string {
	var b strings.Builder
	b.WriteByte('%')
	for _, r := range word {
		switch {
		case r < utf8.RuneSelf && !unicode.IsLetter(r) && !unicode.IsDigit(r),
			r == '\u2028', r == '\u2029', r == utf8.RuneError:
			b.WriteByte('%')
		case r >= utf8.RuneSelf && (unicode.ToUpper(r) != r || unicode.ToLower(r) != r), r == 'k', r == 'i':
			b.WriteByte('%') // has forms of other lengths, such as K and the Kelvin sign
		default:
			b.WriteRune(r)
		}
	}
	b.WriteByte('%')
	return b.String()
}

// excerpt returns the surroundings of a word in a text on one line.
func excerpt(text, lower, word string) string {
	at := utf8.RuneCountInString(lower[:strings.Index(lower, word)])
	runes := []rune(text) // lower case may have other lengths, but then the excerpt is only a little off
	from, to := max(min(at, len(runes))-excerptBefore, 0), min(at+excerptAfter, len(runes))
	short := strings.Join(strings.Fields(string(runes[from:max(from, to)])), " ")
	if from > 0 {
		short = "…" + short
	}
	if to < len(runes) {
		short += "…"
	}
	return short
}
