package telegramtest

import (
	"html"
	"regexp"
	"strings"
)

var tags = map[string]string{
	"b": "bold", "strong": "bold", "i": "italic", "em": "italic", "u": "underline", "ins": "underline",
	"s": "strikethrough", "strike": "strikethrough", "del": "strikethrough", "tg-spoiler": "spoiler",
	"span": "spoiler", "a": "text_link", "code": "code", "pre": "pre", "blockquote": "blockquote",
	"tg-emoji": "custom_emoji",
}

var (
	tagPattern       = regexp.MustCompile(`^<(/?)([a-zA-Z-]+)((?:\s+[a-zA-Z-]+(?:\s*=\s*(?:"[^"]*"|'[^']*'))?)*)\s*>`)
	attributePattern = regexp.MustCompile(`([a-zA-Z-]+)(?:\s*=\s*(?:"([^"]*)"|'([^']*)'))?`)
)

// parseHTML parses Telegram's HTML.
func parseHTML(text string) (string, []Entity, error) {
	var out strings.Builder
	var entities []Entity
	var open []int // entities that are not closed, the innermost last
	for text != "" {
		at := strings.IndexByte(text, '<')
		if at < 0 {
			at = len(text)
		}
		out.WriteString(html.UnescapeString(text[:at]))
		text = text[at:]
		if text == "" {
			break
		}
		tag := tagPattern.FindStringSubmatch(text)
		if tag == nil || tags[strings.ToLower(tag[2])] == "" {
			return "", nil, violationError("can't parse entities: Unsupported start tag at %.20q", text)
		}
		text = text[len(tag[0]):]
		here, name := utf16Len(out.String()), strings.ToLower(tag[2])
		if tag[1] == "" {
			open = append(open, len(entities))
			entities = append(entities, openEntity(name, tag[3], here))
			continue
		}
		if len(open) == 0 || tags[name] != plainType(entities[open[len(open)-1]].Type) {
			return "", nil, violationError("can't parse entities: Unexpected end tag </%s>", name)
		}
		last := &entities[open[len(open)-1]]
		last.Length = here - last.Offset
		open = open[:len(open)-1]
	}
	if len(open) > 0 {
		return "", nil, violationError("can't parse entities: Can't find end tag corresponding to start tag %q", entities[open[0]].Type)
	}
	return out.String(), mergeCode(entities), nil
}

func plainType(t string) string {
	if t == "expandable_blockquote" {
		return "blockquote"
	}
	return t
}

func openEntity(tag, attributes string, at int) Entity {
	e := Entity{Type: tags[tag], Offset: at}
	for _, a := range attributePattern.FindAllStringSubmatch(attributes, -1) {
		value := html.UnescapeString(a[2] + a[3])
		switch a[1] {
		case "href":
			e.URL = value
		case "expandable":
			e.Type = "expandable_blockquote"
		case "emoji-id":
			e.CustomEmojiID = value
		case "class":
			e.Language = strings.TrimPrefix(value, "language-")
		}
	}
	if e.Type == "spoiler" {
		e.Language = ""
	}
	return e
}

// mergeCode merges <pre><code class="language-…"> into one entity, and drops empty entities.
func mergeCode(entities []Entity) []Entity {
	var out []Entity
	for _, e := range entities {
		n := len(out)
		if n > 0 && e.Type == "code" && out[n-1].Type == "pre" && out[n-1].Offset == e.Offset && out[n-1].Length == e.Length {
			out[n-1].Language = e.Language
			continue
		}
		if e.Length > 0 {
			out = append(out, e)
		}
	}
	return out
}
