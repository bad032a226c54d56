package terminal

import (
	"fmt"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"
	"nanobot/internal/words"
)

// blankRun matches white space that would move the text after it out of a person's sight.
var blankRun = lazyregexp.New(`[ \t]{40,}|(?:[ \t]*\n){4,}[ \t]*`)

// FoldBlanks replaces long runs of white space in a text that a person decides about with their
// length.
func FoldBlanks(w words.Words, text string) string {
	return blankRun().ReplaceAllStringFunc(text, func(run string) string {
		space := " "
		if strings.Contains(run, "\n") {
			space = "\n"
		}
		return space + w.Text(words.QuestionBlanks, len(run)) + space
	})
}

// Excerpt returns a text that a person decides about, such as a command, with at most about n
// characters: its beginning and its end, since either may be the dangerous part. White space is
// folded as by FoldBlanks, and characters that cannot be seen are replaced as by Visible. whole
// reports whether nothing is omitted.
func Excerpt(w words.Words, text string, n int) (shown string, whole bool) {
	all := strings.TrimRight(Visible(text), "\n")
	shown = FoldBlanks(w, all)
	if runes := []rune(shown); len(runes) > n {
		head, tail := runes[:n/2], runes[len(runes)-n/2:]
		omitted := len(shown) - len(string(head)) - len(string(tail))
		shown = string(head) + "…\n" + w.Text(words.QuestionMoreBytes, omitted) + "\n…" + string(tail)
	}
	return shown, shown == all
}

// SendDocument sends a text that the next question shows only in part as a document. emit sends the
// message and has read the document when it returns. After an error the question must not be asked.
func SendDocument(w words.Words, name, text string, emit func(Frame) error) error {
	var temp TempFiles
	defer temp.Remove()
	file, err := temp.Add(name, []byte(text))
	if err != nil {
		return err
	}
	return emit(Frame{
		Kind: Message, Text: w.Text(words.QuestionDocument), Silent: true, ProtocolDir: temp.Dir(),
		Media: []string{file.Path}, MediaRequired: true, Checked: []File{file},
	})
}

// maxAudited limits a quoted text of AuditQuote, in bytes.
const maxAudited = 4 << 10

// AuditQuote quotes a text that was decided about, such as a command, for the audit log: as a whole
// up to maxAudited, else its beginning and its end.
func AuditQuote(text string) string {
	q := strconv.Quote(text)
	if len(q) <= maxAudited {
		return q
	}
	head, tail := q[:maxAudited/2], q[len(q)-maxAudited/2:]
	return strings.ToValidUTF8(fmt.Sprintf("%s… (%d more bytes) …%s", head, len(q)-maxAudited, tail), "")
}
