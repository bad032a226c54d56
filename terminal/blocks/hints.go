package blocks

import (
	"fmt"
	"strings"

	"nanobot/internal/lazyregexp"
)

// maxHints limits the hints about one response.
const maxHints = 10

// nearTag matches a line that was probably meant to be an opening tag, and captures the command and
// what follows a name in brackets. Only Markdown may stand before the tag, because a sentence may
// mention one. A name without brackets, or as the language of a code fence, is no sentence either
// if attributes or nothing follow.
var nearTag = lazyregexp.New("^(?:[-*+>#_~`\\s•]|\\d+[.)])*(?:" +
	"(?i:[\\[<]+\\s*((?:CREATE|EDIT|DELETE|READ)[ _-]?FILE|RUN[ _-]?COMMAND|MESSAGE|DONE)(\\b.*|path.*))|" +
	"((?:CREATE|EDIT|DELETE|READ)_FILE|RUN_COMMAND)[*_~`\\s]*(?:[:(].*|path\\b.*)?)$")

// nearMiss returns the command that a trimmed line outside of all commands was probably meant to
// begin.
func nearMiss(line string) (CommandType, bool) {
	m := nearTag().FindStringSubmatch(line)
	if m == nil || strings.HasPrefix(m[2], "](") { // a link
		return "", false
	}
	letters := strings.NewReplacer("_", "", "-", "", " ", "")
	written := letters.Replace(m[1] + m[3])
	for name := range forms {
		if strings.EqualFold(written, letters.Replace(string(name))) {
			return name, true
		}
	}
	return "", false
}

// forms are the correct forms of the opening tags.
var forms = map[CommandType]string{
	CreateFile: `[CREATE_FILE path="FILE"]`, EditFile: `[EDIT_FILE path="FILE" start_line="N" end_line="M"]`,
	DeleteFile: `[DELETE_FILE path="FILE"]`, ReadFile: `[READ_FILE path="FILE"]`,
	RunCommand: "[RUN_COMMAND]", Message: "[MESSAGE]", Done: "[DONE]",
}

// formHint tells how a command is written.
func formHint(name CommandType) string {
	if name == DeleteFile || name == ReadFile {
		return fmt.Sprintf("write %s alone on its line, without a closing tag", forms[name])
	}
	return fmt.Sprintf("write %s alone on its line, the body on the lines after it, and then [/%s] alone on its line",
		forms[name], name)
}

// fenceHint tells that a code fence has become a part of a body.
const fenceHint = "write the body without a code fence around it, because the fence is a part of the body"

// bodyHint returns a hint about a command that was executed with a body that was probably not
// meant, or "".
func bodyHint(c Command) string {
	if c.Type != CreateFile && c.Type != EditFile && c.Type != RunCommand {
		return ""
	}
	body := strings.TrimSpace(c.Text)
	isMarkdown := strings.HasSuffix(strings.ToLower(c.Path), ".md")
	if strings.HasPrefix(body, "```") && strings.HasSuffix(body, "\n```") && !isMarkdown {
		return fenceHint
	}
	for line := range strings.Lines(body) {
		line = strings.TrimSpace(line)
		// The closing tag of this command is missing or misspelt, so that a later one was found.
		name, _, _ := openingTag(line)
		if name == c.Type || strings.EqualFold(line, "[/"+string(c.Type)+"]") {
			return formHint(c.Type)
		}
	}
	return ""
}

// addHint adds a hint about the line that begins at a byte of the response.
func (r *responseReader) addHint(at int, text string) {
	if text == "" || len(r.hints) >= maxHints {
		return
	}
	r.lines += strings.Count(r.text[r.counted:at], "\n")
	r.counted = at
	r.hints = append(r.hints, fmt.Sprintf("line %d: %s", r.lines+1, text))
}
