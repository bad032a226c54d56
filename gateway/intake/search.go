package intake

import (
	"context"
	"fmt"
	"strings"
	"unicode"

	"golang.org/x/text/unicode/norm"

	"nanobot/channels"
	"nanobot/gateway/schedule"
	"nanobot/gateway/store"
	"nanobot/internal/words"
)

const (
	// maxFound is the number of messages that /search shows.
	maxFound = 10
	// excerptBefore and excerptAfter are how many characters an excerpt has around a found word.
	excerptBefore, excerptAfter = 40, 110
)

// search carries out /search: it shows the newest messages of the chat with all given words.
func (c commandCall) search(ctx context.Context) (string, error) {
	c.reply.Private = true
	wanted := store.SearchWords(c.args, store.MaxSearchWords)
	if len(wanted) == 0 {
		return c.text(words.SearchUsage), nil
	}
	zone, err := schedule.LoadZone(c.o.Settings().Timezone)
	if err != nil {
		return "", err
	}
	found, err := c.o.Store.Search(ctx, store.SearchFilter{Chat: c.in.Chat, Text: c.args, Limit: maxFound + 1})
	if err != nil {
		return "", fmt.Errorf("search: %w", err)
	}
	if len(found) == 0 {
		return c.text(words.SearchNone), nil
	}
	linker, _ := c.o.Channels[c.in.Chat.Channel].(channels.Linker)
	var lines []string
	for _, f := range found[:min(len(found), maxFound)] {
		when := channels.EscapeMarkdown(f.Time.In(zone).Format(shownTime))
		if linker != nil && f.Message != "" {
			if link := linker.LinkMessage(c.in.Chat, c.in.Group, f.Message); link != "" {
				when = "[" + when + "](" + link + ")"
			}
		}
		lines = append(lines, fmt.Sprintf("%s, %s: %s", when, c.authorOf(f),
			channels.EscapeMarkdown(excerptAround(f.Text, wanted))))
	}
	if len(found) > maxFound {
		lines = append(lines, c.text(words.SearchMore, maxFound))
	}
	return strings.Join(lines, "\n"), nil
}

// authorOf names who wrote a message.
func (c commandCall) authorOf(f store.Found) string {
	switch {
	case f.Role == "user":
		return personName(f.User)
	case c.o.Choice.Several():
		return channels.EscapeMarkdown(f.Agent)
	}
	return c.text(words.SearchAgent)
}

// excerptAround returns the surroundings of the first of the words in a text, on one line. Of the
// last word, the beginning is enough.
func excerptAround(text string, wanted []string) string {
	runes := []rune(norm.NFC.String(channels.StripBidi(strings.Join(strings.Fields(text), " "))))
	at := 0
	for end := 0; end < len(runes); end++ {
		begin := end
		for end < len(runes) && unicode.In(runes[end], unicode.L, unicode.M, unicode.N) {
			end++
		}
		if isWanted(string(runes[begin:end]), wanted) {
			at = begin
			break
		}
	}
	from, to := max(at-excerptBefore, 0), min(at+excerptAfter, len(runes))
	short := strings.TrimSpace(string(runes[from:to]))
	if from > 0 {
		short = "…" + short
	}
	if to < len(runes) {
		short += "…"
	}
	return short
}

// isWanted reports whether a search for words finds a word.
func isWanted(word string, wanted []string) bool {
	word = foldWord(word)
	for n, w := range wanted {
		if w = foldWord(w); word == w || n == len(wanted)-1 && strings.HasPrefix(word, w) {
			return true
		}
	}
	return false
}

// foldWord returns a word without case and diacritics.
func foldWord(word string) string {
	return strings.ToLower(strings.Map(func(r rune) rune {
		if unicode.Is(unicode.Mn, r) {
			return -1
		}
		return r
	}, norm.NFD.String(word)))
}
