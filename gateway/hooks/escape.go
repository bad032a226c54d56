package hooks

import (
	"strings"
	"unicode"
	"unicode/utf8"

	"nanobot/channels"
	"nanobot/internal/lazyregexp"
)

// invisible is a zero-width space. After the first character of a mention or a command it keeps
// clients from recognizing it, and people see no difference.
const invisible = "\u200b"

var (
	// commandName matches the rest of a command, and the first name of a path.
	commandName = lazyregexp.New(`^\w*`)
	// lineStart matches what makes a line a block of code or the underline of a heading.
	lineStart = lazyregexp.New(`(?m)^[ \t]{2,}|^\t|^ ?=`)
)

// Escape returns Markdown that shows a value as it is: no Markdown, no mention, and no command that
// people could tap or an agent could obey.
func Escape(value string) string {
	value = strings.Map(dropControl, strings.ToValidUTF8(value, string(utf8.RuneError)))
	var plain strings.Builder
	before := ' '
	for i, r := range value {
		plain.WriteRune(r)
		if rest := value[i+utf8.RuneLen(r):]; startsMention(before, r, rest) || startsCommand(before, r, rest) {
			plain.WriteString(invisible)
		}
		before = r
	}
	return lineStart().ReplaceAllStringFunc(channels.EscapeMarkdown(plain.String()), plainStart.Replace)
}

// plainStart makes a line start with a no-break space, or with an escaped character.
var plainStart = strings.NewReplacer(" ", "\u00a0", "\t", "\u00a0", "=", `\=`)

// startsMention reports whether clients could take r and the rest for a mention. They do not take
// an e-mail address for one.
func startsMention(before, r rune, rest string) bool {
	return r == '@' && (!isWord(before) || strings.HasPrefix(rest, "everyone") || strings.HasPrefix(rest, "here"))
}

// startsCommand reports whether clients could take r and the rest for a command. They do not take a
// path with several names or a URL for one.
func startsCommand(before, r rune, rest string) bool {
	if r != '/' || before == '/' || isWord(before) {
		return false
	}
	return !strings.HasPrefix(rest[len(commandName().FindString(rest)):], "/")
}

func isWord(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// dropControl removes control characters except line breaks and tabs.
func dropControl(r rune) rune {
	if unicode.IsControl(r) && r != '\n' && r != '\t' {
		return -1
	}
	return r
}
