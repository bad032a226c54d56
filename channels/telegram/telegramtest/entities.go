package telegramtest

import (
	"cmp"
	"net/url"
	"slices"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// What a text and a caption may measure after entity parsing, in UTF-16 units; and how many
// entities are shown.
const (
	textLimit    = 4096
	captionLimit = 1024
	entityLimit  = 100
)

// prose is a text as a call brings it.
type prose struct {
	text, mode, entities string
	limit                int
}

// text and caption are what a call says.
func (c *Call) text() prose {
	return prose{c.Params["text"], c.Params["parse_mode"], c.Params["entities"], textLimit}
}

func (c *Call) caption() prose {
	return prose{c.Params["caption"], c.Params["parse_mode"], c.Params["caption_entities"], captionLimit}
}

// formatted parses, checks and trims a text. What comes back is what the chat shows.
func (p prose) formatted() (string, []Entity, error) {
	text, entities, err := p.parse()
	if err != nil {
		return "", nil, err
	}
	u := utf16.Encode([]rune(text))
	if err := nested(u, entities); err != nil {
		return "", nil, err
	}
	u, entities = trim(u, entities)
	if len(u) > p.limit {
		what := "message is too long"
		if p.limit == captionLimit {
			what = "message caption is too long"
		}
		return "", nil, forbid("%s", what)
	}
	return string(utf16.Decode(u)), visible(entities), nil
}

func (p prose) parse() (string, []Entity, error) {
	if !utf8.ValidString(p.text) {
		return "", nil, forbid("strings must be encoded in UTF-8")
	}
	var entities []Entity
	given := p.entities != "" && p.entities != "null" && p.entities != "[]"
	switch {
	case p.mode != "" && given:
		return "", nil, forbid("parse_mode and entities exclude each other")
	case strings.EqualFold(p.mode, "html"):
		return parseHTML(p.text)
	case p.mode != "":
		return "", nil, forbid("unsupported parse_mode")
	case given:
		if err := strict("MessageEntity", p.entities, &entities); err != nil {
			return "", nil, err
		}
	}
	// As Telegram sorts them: outer before inner.
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

// nested checks sorted entities: known types, within the text, not through a surrogate pair, and
// none that ends within another it did not begin in.
func nested(text []uint16, entities []Entity) error {
	var ends []int // of the entities around the next one, the innermost last
	for _, e := range entities {
		end := e.Offset + e.Length
		for len(ends) > 0 && ends[len(ends)-1] <= e.Offset {
			ends = ends[:len(ends)-1]
		}
		beyond := end > len(text) || len(ends) > 0 && end > ends[len(ends)-1]
		switch {
		case !slices.Contains(entityTypes, e.Type):
			return forbid("can't parse MessageEntity: Unsupported type specified")
		case e.Offset < 0 || e.Length <= 0:
			return forbid("can't parse MessageEntity: offset %d, length %d", e.Offset, e.Length)
		case e.Offset >= len(text):
			return forbid("entity begins after the end of the text at UTF-16 offset %d", e.Offset)
		case beyond:
			return forbid("entity beginning at UTF-16 offset %d ends after the end of the text at UTF-16 offset %d", e.Offset, end)
		case low(text, e.Offset):
			return forbid("entity begins in a middle of a UTF-16 symbol at UTF-16 offset %d", e.Offset)
		case low(text, end):
			return forbid("entity beginning at UTF-16 offset %d ends in a middle of a UTF-16 symbol at %d", e.Offset, end)
		}
		ends = append(ends, end)
		if err := e.link(); err != nil {
			return err
		}
	}
	return nil
}

// low says whether a place lies between the halves of a surrogate pair.
func low(text []uint16, at int) bool {
	return at > 0 && at < len(text) && text[at] >= 0xdc00 && text[at] <= 0xdfff
}

// link checks what a text_link leads to. Telegram refuses the whole message over a bad one.
func (e Entity) link() error {
	if e.Type != "text_link" {
		return nil
	}
	if e.URL == "" {
		return forbid("can't parse MessageEntity: Can't find field \"url\"")
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
		return refuse("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
	case u.Scheme != "http" && u.Scheme != "https":
		return refuse("entity URL '%s' is invalid: Unsupported URL protocol", e.URL)
	case !strings.Contains(strings.Trim(u.Hostname(), "."), ".") && !strings.Contains(u.Hostname(), ":"):
		return refuse("entity URL '%s' is invalid: Wrong HTTP URL", e.URL)
	}
	return nil
}

// visible leaves out what Telegram drops without a word: anything within code, a quote in a quote,
// and all but the first hundred.
func visible(entities []Entity) []Entity {
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

// trim cuts blanks off the end, and off the beginning as far as no entity covers them.
func trim(text []uint16, entities []Entity) ([]uint16, []Entity) {
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
