package telegramtest

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// The limits of a text and a caption after entity parsing, in UTF-16 units, and the number of
// entities that are shown.
const (
	textLimit    = 4096
	captionLimit = 1024
	entityLimit  = 100
)

// formattedText is a text of a call with its formatting parameters.
type formattedText struct {
	text, mode, entities string
	limit                int
}

// textParam returns the text of a call, captionParam its caption.
func (c *Call) textParam() formattedText {
	return formattedText{c.Params["text"], c.Params["parse_mode"], c.Params["entities"], textLimit}
}

func (c *Call) captionParam() formattedText {
	return formattedText{c.Params["caption"], c.Params["parse_mode"], c.Params["caption_entities"], captionLimit}
}

// render parses, checks and trims a text. The result is the text that the chat shows.
func (p formattedText) render() (string, []Entity, error) {
	text, entities, err := p.parse()
	if err != nil {
		return "", nil, err
	}
	u := utf16.Encode([]rune(text))
	if err := checkNesting(u, entities); err != nil {
		return "", nil, err
	}
	u, entities = trimBlanks(u, entities)
	if len(u) > p.limit {
		what := "message is too long"
		if p.limit == captionLimit {
			what = "message caption is too long"
		}
		return "", nil, violationError("%s", what)
	}
	return string(utf16.Decode(u)), shownEntities(entities), nil
}

func (p formattedText) parse() (string, []Entity, error) {
	if !utf8.ValidString(p.text) {
		return "", nil, violationError("strings must be encoded in UTF-8")
	}
	var entities []Entity
	given := p.entities != "" && p.entities != "null" && p.entities != "[]"
	switch {
	case p.mode != "" && given:
		return "", nil, violationError("parse_mode and entities exclude each other")
	case strings.EqualFold(p.mode, "html"):
		return parseHTML(p.text)
	case p.mode != "":
		return "", nil, violationError("unsupported parse_mode")
	case given:
		if err := decodeStrict("MessageEntity", p.entities, &entities); err != nil {
			return "", nil, err
		}
	}
	// Sorted as Telegram sorts them: outer before inner.
	slices.SortStableFunc(entities, func(a, b Entity) int {
		return cmp.Or(a.Offset-b.Offset, b.Length-a.Length)
	})
	return p.text, entities, nil
}

var entityTypes = []string{
	"mention", "hashtag", "cashtag", "bot_command", "url", "email", "phone_number", "bold", "italic", "underline",
	"strikethrough", "spoiler", "blockquote", "expandable_blockquote", "code", "pre", "text_link", "text_mention",
	"custom_emoji", "date_time",
}

// checkNesting checks sorted entities: their types are known, they are within the text, they do not
// split a surrogate pair, and they do not overlap without nesting.
func checkNesting(text []uint16, entities []Entity) error {
	var ends []int // ends of the enclosing entities, the innermost last
	for _, e := range entities {
		end := e.Offset + e.Length
		for len(ends) > 0 && ends[len(ends)-1] <= e.Offset {
			ends = ends[:len(ends)-1]
		}
		beyond := end > len(text) || len(ends) > 0 && end > ends[len(ends)-1]
		switch {
		case !slices.Contains(entityTypes, e.Type):
			return violationError("can't parse MessageEntity: Unsupported type specified")
		case e.Offset < 0 || e.Length <= 0:
			return violationError("can't parse MessageEntity: offset %d, length %d", e.Offset, e.Length)
		case e.Offset >= len(text):
			return violationError("entity begins after the end of the text at UTF-16 offset %d", e.Offset)
		case beyond:
			return violationError("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end)
		case splitsSurrogatePair(text, e.Offset):
			return violationError("entity begins in a middle of a UTF-16 symbol at UTF-16 offset %d", e.Offset)
		case splitsSurrogatePair(text, end):
			return violationError("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at %d", e.Offset, end)
		}
		ends = append(ends, end)
		if err := e.checkLink(); err != nil {
			return err
		}
	}
	return nil
}

// splitsSurrogatePair reports whether an offset is between the halves of a surrogate pair.
func splitsSurrogatePair(text []uint16, at int) bool {
	return at > 0 && at < len(text) && text[at] >= 0xdc00 && text[at] <= 0xdfff
}

// checkLink checks the target of a text_link. Telegram refuses the whole message if it is invalid.
func (e Entity) checkLink() error {
	if e.Type != "text_link" {
		return nil
	}
	if e.URL == "" {
		return violationError("can't parse MessageEntity: Can't find field \"url\"")
	}
	to := e.URL
	if strings.HasPrefix(to, "tg:") || strings.HasPrefix(to, "ton:") || strings.HasPrefix(to, "tonsite:") {
		return nil
	}
	if !strings.Contains(to, "://") {
		to = "http://" + to
	}
	u, err := url.Parse(to)
	switch {
	case err != nil:
		return expectedError("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
	case u.Scheme != "http" && u.Scheme != "https":
		return expectedError("entity URL '%s' is invalid: Unsupported URL protocol", e.URL)
	case !strings.Contains(strings.Trim(u.Hostname(), "."), ".") && !strings.Contains(u.Hostname(), ":"):
		return expectedError("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
	}
	return nil
}

// shownEntities removes the entities that Telegram drops silently: those within code, a quote in a
// quote, and all after the first hundred.
func shownEntities(entities []Entity) []Entity {
	quote := func(e Entity) bool { return strings.HasSuffix(e.Type, "blockquote") }
	var out []Entity
	for _, e := range entities {
		hidden := slices.ContainsFunc(out, func(outer Entity) bool {
			within := e.Offset < outer.Offset+outer.Length
			return within && (outer.Type == "code" || outer.Type == "pre" || quote(outer) && quote(e))
		})
		if !hidden && len(out) < entityLimit {
			out = append(out, e)
		}
	}
	return out
}

// trimBlanks removes blanks from the end, and from the beginning as far as no entity covers them.
func trimBlanks(text []uint16, entities []Entity) ([]uint16, []Entity) {
	blank := func(u uint16) bool { return u == ' ' || u == '\n' || u == '\t' || u == '\r' }
	end := len(text)
	for end > 0 && blank(text[end-1]) {
		end--
	}
	start, most := 0, end
	if len(entities) > 0 {
		most = min(end, entities[0].Offset)
	}
	for start < most && blank(text[start]) {
		start++
	}
	var out []Entity
	for _, e := range entities {
		e.Length = min(e.Offset+e.Length, end) - e.Offset
		e.Offset -= start
		if e.Length > 0 {
			out = append(out, e)
		}
	}
	return text[start:end], out
}
