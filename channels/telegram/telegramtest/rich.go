package telegramtest

import (
	"html"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"
)

// The limits of a rich message.
const (
	richTextLimit    = 32768 // characters
	richBlockLimit   = 500   // with list items, table rows and nested blocks
	richNestingLimit = 16
	richColumnLimit  = 20
)

// richMessage is the content of a rich message.
type richMessage struct {
	html string
	text string // what people see, one line per block, table row and line break
}

// inputRichMessage is a Bot API InputRichMessage.
type inputRichMessage struct {
	HTML        string `json:"html"`
	Markdown    string `json:"markdown"`
	IsRTL       bool   `json:"is_rtl"`
	NoDetection bool   `json:"skip_entity_detection"`
}

// richParam returns the rich message of a call. Only the HTML form is supported.
func (c *Call) richParam() (*richMessage, error) {
	var in inputRichMessage
	if err := decodeStrict("InputRichMessage", c.Params["rich_message"], &in); err != nil {
		return nil, err
	}
	if in.HTML == "" || in.Markdown != "" {
		return nil, violationError("exactly one of html and markdown must be specified, and this server reads html")
	}
	p := &richParser{rest: in.HTML}
	if err := p.parse(); err != nil {
		return nil, err
	}
	if strings.TrimSpace(p.text.String()) == "" {
		return nil, violationError("RICH_MESSAGE_CONTENT_REQUIRED")
	}
	return &richMessage{html: in.HTML, text: strings.Trim(p.text.String(), "\n")}, nil
}

func (s *Server) sendRichMessage(c *Call) (any, error) {
	rich, err := c.richParam()
	if err != nil {
		return nil, err
	}
	to, m, err := s.prepareMessage(c)
	if err != nil {
		return nil, err
	}
	m.Rich, m.RichText = rich.html, rich.text
	return s.addBotMessage(c, to, m)
}

// The tags of rich messages: where each block may be, and the inline tags.
var (
	richParents = map[string][]string{
		"p": nil, "h1": {""}, "h2": {""}, "h3": {""}, "h4": {""}, "h5": {""}, "h6": {""}, "pre": nil, "hr": nil, "ul": nil, "ol": nil,
		"blockquote": nil, "table": nil, "li": {"ul", "ol"}, "tr": {"table"}, "th": {"tr"}, "td": {"tr"}, "details": nil, "summary": {"details"},
	}
	richContainers = []string{"", "li", "blockquote", "details"}
	richInline     = []string{"b", "i", "u", "s", "code", "a", "tg-spoiler", "sub", "sup", "mark"}
	richVoid       = []string{"br", "hr", "input"}
	richAttributes = map[string][]string{
		"a": {"href"}, "code": {"class"}, "ol": {"start"}, "li": {"value"}, "table": {"bordered", "striped"},
		"th": {"align"}, "td": {"align"}, "input": {"type", "checked"}, "details": {"open"},
	}
)

var richTag = regexp.MustCompile(`^<(/?)([a-z][a-z0-9-]*)((?:\s+[a-z-]+(?:="[^"<>]*")?)*)\s*(/?)>`)

// richParser checks the HTML of a rich message and collects its text.
type richParser struct {
	rest           string
	open           []string
	columns        int // of the current table row
	blocks, length int
	text           strings.Builder
}

func (p *richParser) parse() error {
	for p.rest != "" {
		at := strings.IndexByte(p.rest, '<')
		if at < 0 {
			at = len(p.rest)
		}
		if err := p.addText(html.UnescapeString(p.rest[:at])); err != nil {
			return err
		}
		if p.rest = p.rest[at:]; p.rest == "" {
			break
		}
		tag := richTag.FindStringSubmatch(p.rest)
		if tag == nil {
			return violationError("can't parse rich message: invalid tag at %.30q", p.rest)
		}
		p.rest = p.rest[len(tag[0]):]
		var err error
		if tag[1] == "" {
			err = p.begin(tag[2], tag[3])
		} else {
			err = p.end(tag[2])
		}
		if err != nil {
			return err
		}
	}
	if len(p.open) > 0 {
		return violationError("can't parse rich message: <%s> is not closed", p.parent())
	}
	return nil
}

func (p *richParser) parent() string {
	if len(p.open) == 0 {
		return ""
	}
	return p.open[len(p.open)-1]
}

func (p *richParser) addText(s string) error {
	if !slices.Contains(p.open, "pre") {
		s = strings.ReplaceAll(s, "\n", " ")
	}
	if strings.TrimSpace(s) != "" && slices.Contains([]string{"ul", "ol", "table", "tr", ""}, p.parent()) {
		return violationError("can't parse rich message: %.30q is not in a block", s)
	}
	if p.length += utf8.RuneCountInString(s); p.length > richTextLimit {
		return violationError("RICH_MESSAGE_TOO_LONG")
	}
	p.text.WriteString(s)
	return nil
}

func (p *richParser) begin(name, attributes string) error {
	if err := p.checkPlace(name); err != nil {
		return err
	}
	for _, a := range attributePattern.FindAllStringSubmatch(attributes, -1) {
		if !slices.Contains(richAttributes[name], a[1]) {
			return violationError("can't parse rich message: <%s> has no attribute %s", name, a[1])
		}
		if name == "a" {
			if err := (Entity{Type: "text_link", URL: html.UnescapeString(a[2])}).checkLink(); err != nil {
				return err
			}
		}
	}
	switch name {
	case "br":
		p.text.WriteString("\n")
	case "input":
		p.text.WriteString(map[bool]string{true: "☑ ", false: "☐ "}[strings.Contains(attributes, "checked")])
	case "td", "th":
		if p.columns > 0 {
			p.text.WriteString(" | ")
		}
		if p.columns++; p.columns > richColumnLimit {
			return violationError("RICH_MESSAGE_TABLE_TOO_WIDE")
		}
	case "tr":
		p.columns = 0
	case "ol":
		if _, err := strconv.Atoi(strings.Trim(strings.TrimPrefix(strings.TrimSpace(attributes), "start="), `"`)); attributes != "" && err != nil {
			return violationError("can't parse rich message: start of <ol>: %v", err)
		}
	}
	if slices.Contains(richVoid, name) {
		return nil
	}
	if p.open = append(p.open, name); len(p.open) > richNestingLimit {
		return violationError("RICH_MESSAGE_TOO_DEEP")
	}
	return nil
}

// checkPlace checks that a tag is known and may be where it is, and counts blocks.
func (p *richParser) checkPlace(name string) error {
	parent := p.parent()
	wrong := violationError("can't parse rich message: <%s> in <%s>", name, parent)
	if parents, block := richParents[name]; block {
		if name != "td" && name != "th" {
			p.blocks++
		}
		if p.blocks > richBlockLimit {
			return violationError("RICH_MESSAGE_TOO_MANY_BLOCKS")
		}
		if parents == nil {
			parents = richContainers
		}
		if !slices.Contains(parents, parent) {
			return wrong
		}
		if !strings.HasSuffix(p.text.String(), "\n") && name != "td" && name != "th" {
			p.text.WriteString("\n")
		}
		return nil
	}
	switch {
	case slices.Contains(richInline, name) && parent == "pre" && name == "code", name == "input" && parent == "li":
		return nil
	case !slices.Contains(richInline, name) && name != "br":
		return violationError("can't parse rich message: unsupported tag <%s>", name)
	case slices.Contains([]string{"", "ul", "ol", "table", "tr"}, parent), slices.Contains(p.open, "code"):
		return wrong
	}
	return nil
}

func (p *richParser) end(name string) error {
	if p.parent() != name {
		return violationError("can't parse rich message: </%s> closes <%s>", name, p.parent())
	}
	p.open = p.open[:len(p.open)-1]
	return nil
}
