package keys

import "strings"

const (
	openKeystrokes  = "<keystrokes"
	closeKeystrokes = "</keystrokes>"
	openCommand     = "<command>"
	closeCommand    = "</command>"
)

// element is a tag <keystrokes …> with its content and the text between it and its neighbours.
type element struct {
	before, attributes, content, after string
}

// findElements returns the keystrokes of a section up to the first that are not closed. The tag
// <keystrokes/> counts as closed.
func findElements(commands string) []element {
	var found []element
	between := 0 // start of the text outside of keystrokes
	for i := 0; ; {
		k := strings.Index(commands[i:], openKeystrokes)
		if k < 0 {
			break
		}
		start := i + k
		i = start + len(openKeystrokes)
		n := strings.IndexByte(commands[i:], '>')
		if n < 0 {
			break
		}
		attributes := commands[i : i+n]
		if attributes != "" && !isBlank(attributes[0]) && attributes[0] != '/' {
			continue // another tag whose name starts the same
		}
		e := element{before: commands[between:start], attributes: attributes}
		i += n + 1
		if own, single := strings.CutSuffix(attributes, "/"); single {
			e.attributes = own
		} else {
			n := strings.Index(commands[i:], closeKeystrokes)
			if n < 0 {
				break
			}
			e.content = commands[i : i+n]
			i += n + len(closeKeystrokes)
		}
		between = i
		found = append(found, e)
	}
	for i := range found {
		if i+1 < len(found) {
			found[i].after = found[i+1].before
		} else {
			found[i].after = commands[between:]
		}
	}
	return found
}

// readKeystrokes parses the commands of a section.
func (r *Response) readKeystrokes(commands string) {
	found := findElements(commands)
	for i, e := range found {
		n := i + 1
		k := Keystrokes{Keys: e.content, Duration: defaultDuration}
		written, ok := r.readAttributes(n, e.attributes)
		if !ok {
			written, ok = e.duration()
		}
		if !ok {
			r.warn("Command %d: Missing duration attribute, using default 1.0", n)
		} else if k.Duration, ok = parseSeconds(strings.TrimSpace(written)); !ok {
			r.warn("Command %d: Invalid duration value '%s', using default 1.0", n, written)
		}
		r.checkNewline(n, k.Keys, n == len(found))
		r.Commands = append(r.Commands, k)
	}
}

// duration returns the content of the tag <duration> in the same <command>.
func (e *element) duration() (written string, ok bool) {
	opened := strings.LastIndex(e.before, openCommand)
	if opened < strings.LastIndex(e.before, closeCommand) || opened < 0 {
		return "", false
	}
	after, _, _ := strings.Cut(e.after, closeCommand)
	after, _, _ = strings.Cut(after, openCommand)
	for _, text := range []string{after, e.before[opened:]} {
		_, rest, _ := strings.Cut(text, "<duration>")
		if written, _, ok = strings.Cut(rest, "</duration>"); ok {
			return strings.TrimSpace(written), true
		}
	}
	return "", false
}

// readAttributes returns the duration among the attributes of command n, and adds warnings for
// malformed attributes.
func (r *Response) readAttributes(n int, text string) (duration string, ok bool) {
	all := splitAttributes(text)
	for _, a := range all {
		if a.name == "duration" && a.quote == 0 && a.value != "" {
			r.warn(`Command %d: Attribute 'duration' value should be quoted: duration="%s"`, n, a.value)
		}
	}
	for _, a := range all {
		if a.name == "duration" && a.quote == '\'' {
			r.warn(`Command %d: Use double quotes for attribute 'duration': duration="%s"`, n, a.value)
		}
	}
	for _, a := range all {
		if a.name != "duration" {
			r.warn("Command %d: Unknown attribute '%s' - known attributes are: duration", n, a.name)
		}
	}
	for _, a := range all {
		if a.name == "duration" && a.quote != 0 {
			return a.value, true
		}
	}
	return "", false
}

// attribute is an attribute of a tag. quote is the character around the value, or 0.
type attribute struct {
	name, value string
	quote       byte
}

// splitAttributes parses the attributes of a tag. An unclosed quote does not count as one.
func splitAttributes(text string) []attribute {
	var all []attribute
	for {
		if text = strings.TrimLeft(text, blanks); text == "" {
			return all
		}
		var a attribute
		a.name, text = cutBeforeAny(text, "="+blanks)
		rest, ok := strings.CutPrefix(strings.TrimLeft(text, blanks), "=")
		if !ok {
			all = append(all, a) // without a value
			continue
		}
		text = strings.TrimLeft(rest, blanks)
		if quote := strings.IndexAny(text, `"'`); quote == 0 {
			a.quote, text = text[0], text[1:]
			if value, rest, closed := strings.Cut(text, string(a.quote)); closed {
				a.value, text = value, rest
				all = append(all, a)
				continue
			}
			a.quote = 0
		}
		a.value, text = cutBeforeAny(text, blanks)
		all = append(all, a)
	}
}

const blanks = " \t\r\n"

func isBlank(c byte) bool { return strings.IndexByte(blanks, c) >= 0 }

// cutBeforeAny cuts a text before the first of some characters.
func cutBeforeAny(text, chars string) (before, rest string) {
	if i := strings.IndexAny(text, chars); i >= 0 {
		return text[:i], text[i:]
	}
	return text, ""
}
