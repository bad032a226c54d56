package runbook

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/internal/lazyregexp"
)

// MaxText limits the size of a runbook.
const MaxText = 256 << 10

// deepNesting matches a line that opens more than 16 nested lists or quotes, or one after more than
// 64 blanks. For each blank line the Markdown parser takes as many steps as there are open lists.
var deepNesting = lazyregexp.New(`(?m)^(?:(?:[ \t]*(?:>|[-+*][ \t]|[0-9]{1,9}[.)][ \t])){17}|[ \t]{65,}(?:[-+*]|[0-9]{1,9}[.)])[ \t])`)

// Parse parses a runbook. A runbook with errors cannot be executed; warnings point to text that
// looks like a challenge but is not.
func Parse(text string) (book Runbook, errors, warnings []Problem) {
	text = strings.ToValidUTF8(text, "\ufffd") // so that it survives encoding as JSON
	book = Runbook{Text: text, Hash: hashText(text), Steps: []Step{}}
	r := textReader{book: &book, errors: []Problem{}, warnings: []Problem{}}
	switch {
	case len(text) > MaxText:
		r.addError(1, "", fmt.Sprintf("The runbook has more than %d KiB.", MaxText>>10))
	case deepNesting().MatchString(text):
		line := 1 + strings.Count(text[:deepNesting().FindStringIndex(text)[0]], "\n")
		r.addError(line, "", "The lists or quotes are nested too deeply.")
	default:
		r.outline = readOutline(normalizeText(text))
		r.readRunbook()
	}
	return book, r.errors, r.warnings
}

// normalizeText removes the byte order mark and carriage returns at the ends of lines.
func normalizeText(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "\ufeff"), "\r\n", "\n")
}

// hashText returns the SHA-256 of a text in hex.
func hashText(text string) string {
	sum := sha256.Sum256([]byte(text))
	return hex.EncodeToString(sum[:])
}

// textReader converts an outline to a runbook.
type textReader struct {
	*outline
	book             *Runbook
	errors, warnings []Problem
}

func (r *textReader) addError(line int, step, message string) {
	r.errors = append(r.errors, Problem{line, step, message})
}

func (r *textReader) addWarning(line int, step, message string) {
	r.warnings = append(r.warnings, Problem{line, step, message})
}

// readRunbook sets the runbook's label, introduction and steps.
func (r *textReader) readRunbook() {
	for _, h := range r.titles[min(1, len(r.titles)):] {
		r.addError(h.line, "", fmt.Sprintf("There is a second H1, %q. A runbook has one.", h.label))
	}
	if len(r.titles) == 0 {
		r.addError(1, "", "There is no H1. A runbook begins with `# ` and its label.")
	} else if r.book.Label = r.titles[0].label; r.book.Label == "" {
		r.addError(r.titles[0].line, "", "The H1 is empty. It is the label of the runbook.")
	}
	r.book.Introduction = strings.TrimSpace(r.introduction)
	r.warnIgnoredBlocks(r.introNodes, nil, "")
	for i, s := range r.steps {
		r.readStep(i+1, s)
	}
}

// readStep parses one section. A block at its end takes precedence over a line in the old form.
func (r *textReader) readStep(index int, s section) {
	step := Step{Index: index, Label: s.label, Line: s.line}
	block := s.lastBlock()
	definition, line := r.blockDefinition(block), 0
	if definition != nil {
		line = r.lineAt(block.Pos())
		step.Body = r.source[s.start:block.Pos()]
		r.warnIgnoredBlocks(s.nodes, block, s.label)
	} else {
		step.Body, definition, line = r.findOldForm(s)
		r.warnIgnoredBlocks(s.nodes, nil, s.label)
	}
	step.Body = strings.TrimSpace(step.Body)
	if definition != nil {
		parsed, mistakes := readDefinition(definition)
		for _, m := range mistakes {
			r.addError(line, s.label, fmt.Sprintf("Step %q: %s", s.label, m))
		}
		for _, w := range unknownKeys(definition, parsed.Type) {
			r.addWarning(line, s.label, fmt.Sprintf("Step %q: %s", s.label, w))
		}
		step.Definition, step.Challenge = definition, &parsed
	}
	r.book.Steps = append(r.book.Steps, step)
}

// blockDefinition returns the definition in a fenced block, or nil.
func (r *textReader) blockDefinition(block *ast.FencedCodeBlock) json.RawMessage {
	if block == nil || !r.isJSON(block) {
		return nil
	}
	definition, _ := extractChallenge(block.Lines().Value(r.bytes))
	return definition
}
