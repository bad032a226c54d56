package keys

import (
	"slices"
	"strings"
)

const (
	openResponse  = "<response>"
	closeResponse = "</response>"
)

// sectionNames are the sections of a response in XML.
var sectionNames = append(slices.Clone(required), "task_complete")

const emptyCommands = "Commands section is empty; not taking any action. " +
	"If you want to wait a specific amount of time please use `sleep`, " +
	"but if you're waiting for a command to finish then continue to wait."

// parseXML parses a response in XML. Tags are searched as text, because models write shell commands
// with < and & into them, which an XML parser would reject.
func parseXML(text string) (r Response) {
	content, ok := r.findResponse(text)
	if !ok {
		r.Error = "No <response> tag found"
		return r
	}
	s := findSections(content)
	r.checkSections(s)
	r.Analysis, r.Plan = s.first["analysis"].content, s.first["plan"].content
	r.TaskComplete = strings.EqualFold(s.first["task_complete"].content, "true")
	commands, ok := s.first["commands"]
	switch {
	case !ok && !r.TaskComplete:
		r.Error = "Missing <commands> section"
	case ok && commands.content == "" && !r.TaskComplete:
		r.warn(emptyCommands)
	case ok:
		r.readKeystrokes(commands.content)
		r.checkEscapes(commands.content)
	}
	return r
}

// findResponse returns the content of the response tag. It reports false if the content is empty.
func (r *Response) findResponse(text string) (content string, ok bool) {
	before, rest, ok := strings.Cut(text, openResponse)
	if !ok {
		return "", false
	}
	if strings.TrimSpace(before) != "" {
		r.warn("Extra text detected before <response> tag")
	}
	content, after, _ := strings.Cut(rest, closeResponse)
	if strings.TrimSpace(after) != "" {
		r.warn("Extra text detected after </response> tag")
		if n := strings.Count(text, openResponse); n > 1 {
			r.warn("IMPORTANT: Only issue one <response> block at a time. "+
				"You issued %d and only the first was executed.", n)
		}
	}
	return content, strings.TrimSpace(content) != ""
}

// sections are the sections of a response. Sections inside another section do not count: keystrokes
// that write a file may contain any tags.
type sections struct {
	first   map[string]section
	count   map[string]int
	outside []string // the text between the sections
}

// section is the content of a section and the position of its tag.
type section struct {
	content string
	at      int
	closed  bool // has a closing tag, unlike <plan/>
}

// findSections finds the sections in the content of a response.
func findSections(content string) sections {
	s := sections{first: map[string]section{}, count: map[string]int{}}
	unclosed := map[string]bool{} // sections without a closing tag from here on
	outside := 0                  // start of the text outside of sections
	for i := 0; i < len(content); {
		k := strings.IndexByte(content[i:], '<')
		if k < 0 {
			break
		}
		i += k
		name, inside, single := sectionTag(content[i:])
		if name == "" || unclosed[name] && !single {
			i++
			continue
		}
		inside += i
		found, end := section{at: i}, inside
		if !single {
			n := strings.Index(content[inside:], "</"+name+">")
			if n < 0 {
				unclosed[name] = true
				i++
				continue
			}
			found.content, found.closed = strings.TrimSpace(content[inside:inside+n]), true
			end = inside + n + len("</>") + len(name)
		}
		if earlier, ok := s.first[name]; !ok || found.closed && !earlier.closed {
			s.first[name] = found
		}
		s.count[name]++
		s.outside = append(s.outside, content[outside:i])
		i, outside = end, end
	}
	s.outside = append(s.outside, content[outside:])
	return s
}

// sectionTag returns the name of the section whose tag is at the beginning of a text, or "", the
// length of the tag, and whether it is a tag like <plan/>.
func sectionTag(text string) (name string, length int, single bool) {
	for _, name := range sectionNames {
		rest, ok := strings.CutPrefix(text[1:], name)
		if !ok {
			continue
		}
		if strings.HasPrefix(rest, ">") {
			return name, 1 + len(name) + 1, false
		}
		if rest, ok := strings.CutPrefix(strings.TrimLeft(rest, " \t\r\n"), "/>"); ok {
			return name, len(text) - len(rest), true
		}
	}
	return "", 0, false
}

// checkSections adds warnings for sections that are missing, unknown, repeated or in the wrong
// order.
func (r *Response) checkSections(s sections) {
	for _, name := range required {
		if _, ok := s.first[name]; !ok {
			r.warn("Missing <%s> section", name)
		}
	}
	for _, name := range unknownTags(s.outside) {
		r.warn("Unknown tag found: <%s>, expected analysis/plan/commands/task_complete", name)
	}
	for _, name := range sectionNames {
		switch n := s.count[name]; {
		case n > 1 && name == "commands":
			r.warn("IMPORTANT: Only issue one <commands> block at a time. "+
				"You issued %d and only the first was executed.", n)
		case n > 1:
			r.warn("Multiple <%s> sections found", name)
		}
	}
	var found []string
	for _, name := range required {
		if _, ok := s.first[name]; ok {
			found = append(found, name)
		}
	}
	slices.SortFunc(found, func(a, b string) int { return s.first[a].at - s.first[b].at })
	r.checkOrder("Sections", found)
}

// unknownTags returns the distinct names of opening tags in texts that are not section tags.
// Comments are skipped.
func unknownTags(texts []string) []string {
	var names []string
	seen := map[string]bool{}
	for _, name := range sectionNames {
		seen[name] = true
	}
	for _, text := range texts {
		for ok := true; ok; {
			if _, text, ok = strings.Cut(text, "<"); !ok {
				break
			}
			if comment, found := strings.CutPrefix(text, "!--"); found {
				_, text, ok = strings.Cut(comment, "-->")
				continue
			}
			if name := tagName(text); name != "" && !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names
}

// tagName returns the name of the opening tag whose < precedes the text, or "" if it is not a tag.
// A tag ends before the next <, so that no text is read twice.
func tagName(text string) string {
	end := strings.IndexAny(text, "<>")
	if end < 0 || text[end] == '<' {
		return ""
	}
	name, _ := cutBeforeAny(text[:end], blanks+"/")
	if name == "" || strings.Trim(name, nameCharacters) != "" || strings.Trim(name[:1], nameStart) != "" {
		return ""
	}
	return name
}

const (
	nameStart      = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_"
	nameCharacters = nameStart + "0123456789.:-"
)

// checkEscapes adds warnings for XML escapes in the commands, because commands are read verbatim.
func (r *Response) checkEscapes(commands string) {
	for _, e := range [][2]string{{"&lt;", "<"}, {"&gt;", ">"}, {"&amp;", "&"}, {"&quot;", `"`}, {"&apos;", "'"}} {
		if strings.Contains(commands, e[0]) {
			r.warn("Warning: %s is read verbatim and not converted to %s. NEVER USE %[1]s, "+
				"unless you want these exact characters to appear directly in the output.", e[0], e[1])
		}
	}
	if strings.Contains(commands, `\r\n`) {
		r.warn(`Warning: \r\n line endings are not necessary - use \n instead for simpler output`)
	}
}
