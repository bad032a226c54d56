package runbook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"regexp"
	"strings"

	"github.com/yuin/goldmark/ast"
)

// MaxText is the size of the largest runbook that is read.
const MaxText = 256 << 10

// tooDeep is a line that begins more than 16 lists or quotes inside each other, or one behind more
// than 64 blanks. Each blank line costs the Markdown parser as many steps as lists are open.
var tooDeep = regexp.MustCompile(`(?m)^(?:(?:[ \t]*(?:>|[-+*][ \t]|[0-9]{1,9}[.)][ \t])){17}|[ \t]{65,}(?:[-+*]|[0-9]{1,9}[.)])[ \t])`)

// Parse reads a runbook. It cannot be executed if there are errors; warnings say which text looks
// like a challenge and is none.
func Parse(text string) (book Runbook, errors, warnings []Problem) {
	text = strings.ToValidUTF8(text, "\ufffd") // so that JSON carries it unchanged
	book = Runbook{Text: text, Hash: hashText(text), Steps: []Step{}}
	r := textReader{book: &book, errors: []Problem{}, warnings: []Problem{}}
	switch {
	case len(text) > MaxText:
		r.refuse(1, "", fmt.Sprintf("The runbook has more than %d KiB.", MaxText>>10))
	case tooDeep.MatchString(text):
		line := 1 + strings.Count(text[:tooDeep.FindStringIndex(text)[0]], "\n")
		r.refuse(line, "", "The lists or quotes are nested too deeply.")
	default:
		r.outline = readOutline(strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n"))
		r.readRunbook()
	}
	return book, r.errors, r.warnings
}

// hashText returns the hex sha256 of a text.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// textReader makes a runbook of an outline.
type textReader struct {
	*outline
	book             *Runbook
	errors, warnings []Problem
}

func (r *textReader) refuse(line int, step, message string) {
	r.errors = append(r.errors, Problem{line, step, message})
}

func (r *textReader) warn(line int, step, message string) {
	r.warnings = append(r.warnings, Problem{line, step, message})
}

// readRunbook finds the runbook's label, its introduction and its steps.
func (r *textReader) readRunbook() {
	for _, h := range r.titles[min(1, len(r.titles)):] {
		r.refuse(h.line, "", fmt.Sprintf("There is a second H1, %q. A runbook has one.", h.label))
	}
	if len(r.titles) == 0 {
		r.refuse(1, "", "There is no H1. A runbook begins with `# ` and its label.")
	} else if r.book.Label = r.titles[0].label; r.book.Label == "" {
		r.refuse(r.titles[0].line, "", "The H1 is empty. It is the label of the runbook.")
	}
	r.book.Introduction = strings.TrimSpace(r.introduction)
	r.warnIgnored(r.before, nil, "")
	for i, s := range r.steps {
		r.readStep(i+1, s)
	}
}

// readStep reads one section. Of several challenges that it might have, a block at its end comes
// before a line in the old form.
func (r *textReader) readStep(index int, s section) {
	step := Step{Index: index, Label: s.label, Line: s.line}
	block := s.lastBlock()
	definition, line := r.challengeOf(block), 0
	if definition != nil {
		line = r.lineAt(block.Pos())
		step.Body = r.source[s.start:block.Pos()]
		r.warnIgnored(s.nodes, block, s.label)
	} else {
		step.Body, definition, line = r.findOldForm(s)
		r.warnIgnored(s.nodes, nil, s.label)
	}
	step.Body = strings.TrimSpace(step.Body)
	if definition != nil {
		parsed, mistakes := readDefinition(definition)
		for _, m := range mistakes {
			r.refuse(line, s.label, fmt.Sprintf("Step %q: %s", s.label, m))
		}
		step.Definition, step.Challenge = definition, &parsed
	}
	r.book.Steps = append(r.book.Steps, step)
}

// challengeOf returns the definition in a fenced block, or nil if it has none.
func (r *textReader) challengeOf(block *ast.FencedCodeBlock) json.RawMessage {
	if block == nil || !r.isJSON(block) {
		return nil
	}
	definition, _ := extractChallenge(block.Lines().Value(r.bytes))
	return definition
}
