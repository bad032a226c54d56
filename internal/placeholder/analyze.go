package placeholder

import (
	"fmt"
	"path"
	"strconv"
	"strings"

	"nanobot/internal/lazyregexp"

	"mvdan.cc/sh/v3/syntax"
)

// commandAnalyzer classifies the placeholders of a parsed command. It descends only into syntax
// that it knows; a placeholder that it does not reach counts as unsafe, because the shell may apply
// other quoting rules there or expand the word twice.
type commandAnalyzer struct {
	markerPrefix string // prefix of the words that stand for placeholders; a number follows
	uses         []*placeholderUse
	functions    map[string]bool // the shell functions that the command defines
}

// markerDigits is the length of the number in a marker.
const markerDigits = 6

func (r *commandAnalyzer) markerLength() int { return len(r.markerPrefix) + markerDigits }

// commandWord is one word of a simple command, as far as it is known before the command runs.
type commandWord struct {
	text              string // without expansions, whose values are unknown
	complete          bool   // the word has no expansions, so text is all of it
	nameKnown         bool   // the part after the last slash is known, as in "$HOME/bin/agent"
	placeholders      []int  // numbers of the placeholders that are unquoted parts of the word
	nestedPlaceholder bool   // another placeholder is deeper in the word, such as in a command substitution
	// textBefore is the text before the first placeholder.
	textBefore string
	// The first two say that the word starts and that it ends with a placeholder, the third that it
	// consists of one placeholder.
	startsWithPlaceholder, endsWithPlaceholder, onlyPlaceholder bool
}

// analyze classifies every placeholder that it reaches, or returns an error for an unsafe one.
func (r *commandAnalyzer) analyze(file *syntax.File) error {
	aliases := false
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.FuncDecl:
			if n.Name != nil {
				r.functions[n.Name.Value] = true
			}
			for _, name := range n.Names {
				r.functions[name.Value] = true
			}
		case *syntax.CallExpr:
			aliases = aliases || len(n.Args) > 0 && n.Args[0].Lit() == "alias"
		}
		return true
	})
	if aliases {
		return fmt.Errorf("%s cannot be used together with an alias, which may evaluate it", Message)
	}
	if err := r.analyzeStatements(file.Stmts); err != nil {
		return err
	}
	return r.checkTaintedVariables(file)
}

func (r *commandAnalyzer) analyzeStatements(all []*syntax.Stmt) error {
	for _, s := range all {
		if err := r.analyzeStatement(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *commandAnalyzer) analyzeStatement(s *syntax.Stmt) error {
	if s == nil || !r.containsPlaceholder(s) {
		return nil
	}
	for _, redirect := range s.Redirs {
		if redirect.Word != nil && redirect.Hdoc == nil && r.containsPlaceholder(redirect.Word) {
			return fmt.Errorf("%s in a redirection would let users choose a file, "+
				"or be the input of a program that evaluates it", Message)
		}
		if program := r.findInputEvaluator(redirect); program != "" { // as in echo {message} > >(sh)
			return fmt.Errorf("%s would be evaluated by %s after the redirection", Message, program)
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.analyzeCall(c)
	case *syntax.BinaryCmd:
		return r.analyzeBinary(c)
	case *syntax.Block:
		return r.analyzeStatements(c.Stmts)
	case *syntax.Subshell:
		return r.analyzeStatements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if err := r.analyzeStatements(append(c.Cond[:len(c.Cond):len(c.Cond)], c.Then...)); err != nil {
				return err
			}
		}
	case *syntax.WhileClause:
		return r.analyzeStatements(append(c.Cond[:len(c.Cond):len(c.Cond)], c.Do...))
	case *syntax.ForClause:
		return r.analyzeStatements(c.Do)
	case *syntax.CaseClause:
		if w := r.parseWord(c.Word); w.onlyPlaceholder {
			r.recordUse(w, placeholderUse{})
		}
		for _, item := range c.Items {
			if err := r.analyzeStatements(item.Stmts); err != nil {
				return err
			}
		}
	case *syntax.FuncDecl:
		return r.analyzeStatement(c.Body)
	case *syntax.TimeClause:
		return r.analyzeStatement(c.Stmt)
	case *syntax.DeclClause:
		return fmt.Errorf("%s would be evaluated by %s", Message, c.Variant.Value)
	}
	return nil
}

func (r *commandAnalyzer) analyzeBinary(c *syntax.BinaryCmd) error {
	if (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && r.containsPlaceholder(c.X) {
		if program := r.findInputEvaluator(c.Y); program != "" {
			return fmt.Errorf("%s would be evaluated by %s after the pipe", Message, program)
		}
	}
	if err := r.analyzeStatement(c.X); err != nil {
		return err
	}
	return r.analyzeStatement(c.Y)
}

// findInputEvaluator returns the name of a program in node that executes its input, or "". node is
// the right side of a pipe, a redirection, or a command with redirected input.
func (r *commandAnalyzer) findInputEvaluator(later syntax.Node) (program string) {
	syntax.Walk(later, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && len(c.Args) > 0 && program == "" {
			words := r.parseWords(c.Args)
			if r.functions[words[0].text] {
				program = "the shell function " + words[0].text
				return false
			}
			program = inputEvaluator(words)
		}
		return program == ""
	})
	return program
}

func (r *commandAnalyzer) analyzeCall(c *syntax.CallExpr) error {
	for _, a := range c.Assigns {
		if !r.containsPlaceholder(a) {
			continue
		}
		stmts := substitutedStatements(a)
		if stmts == nil {
			return fmt.Errorf("%s cannot be assigned to a variable, which may be evaluated later", Message)
		}
		if err := r.analyzeStatements(stmts); err != nil {
			return err
		}
	}
	words := r.parseWords(c.Args)
	for i, w := range words {
		if len(w.placeholders) == 0 {
			continue
		}
		if r.functions[words[0].text] {
			return fmt.Errorf("%s cannot be passed to the shell function %s, which may evaluate it", Message, words[0].text)
		}
		p, err := classifyUse(words, i)
		if err != nil {
			return err
		}
		r.recordUse(w, p)
	}
	return nil
}

// substitutedStatements returns the statements of NAME=$(…), or nil if the value has any other
// form.
func substitutedStatements(a *syntax.Assign) []*syntax.Stmt {
	if a.Index != nil || a.Array != nil || a.Value == nil || len(a.Value.Parts) != 1 {
		return nil
	}
	if s, ok := a.Value.Parts[0].(*syntax.CmdSubst); ok && !s.Backquotes {
		return s.Stmts
	}
	return nil
}

// recordUse accepts the placeholders of a word. A nested one makes the whole word unsafe.
func (r *commandAnalyzer) recordUse(w commandWord, p placeholderUse) {
	if w.nestedPlaceholder {
		return
	}
	for _, i := range w.placeholders {
		r.uses[i] = &p
	}
}

// containsPlaceholder reports whether there is a placeholder anywhere below node.
func (r *commandAnalyzer) containsPlaceholder(node syntax.Node) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch l := n.(type) {
		case *syntax.Lit:
			found = found || strings.Contains(l.Value, r.markerPrefix)
		case *syntax.SglQuoted:
			found = found || strings.Contains(l.Value, r.markerPrefix)
		}
		return !found
	})
	return found
}

func (r *commandAnalyzer) parseWords(all []*syntax.Word) []commandWord {
	words := make([]commandWord, len(all))
	for i, w := range all {
		words[i] = r.parseWord(w)
	}
	return words
}

// expansionChars are the characters by which the shell turns an unquoted word into other words, and
// the backslash, which escapes the next character.
const expansionChars = "\\{}*?["

func (r *commandAnalyzer) parseWord(w *syntax.Word) commandWord {
	out := commandWord{complete: true, nameKnown: true}
	for i, part := range w.Parts {
		out.endsWithPlaceholder = false
		switch p := part.(type) {
		case *syntax.Lit:
			r.appendLiteral(&out, p.Value)
			out.startsWithPlaceholder = out.startsWithPlaceholder || i == 0 && strings.HasPrefix(p.Value, r.markerPrefix)
			out.endsWithPlaceholder = len(p.Value) >= r.markerLength() &&
				strings.HasPrefix(p.Value[len(p.Value)-r.markerLength():], r.markerPrefix)
		case *syntax.SglQuoted:
			out.appendText(p.Value, !p.Dollar)
			out.nestedPlaceholder = out.nestedPlaceholder || r.containsPlaceholder(p)
		case *syntax.DblQuoted:
			text, plain := doubleQuotedText(p)
			out.appendText(text, plain)
			out.nestedPlaceholder = out.nestedPlaceholder || r.containsPlaceholder(p)
		default:
			out.appendText("", false)
			out.nestedPlaceholder = out.nestedPlaceholder || r.containsPlaceholder(p)
		}
	}
	out.onlyPlaceholder = out.startsWithPlaceholder && out.endsWithPlaceholder && len(w.Parts) == 1 &&
		len(out.placeholders) == 1
	return out
}

// appendText appends a part of a word; complete is false if the part has an expansion.
func (w *commandWord) appendText(text string, complete bool) {
	w.text += text
	w.complete = w.complete && complete
	w.nameKnown = complete && (w.nameKnown || strings.Contains(text, "/"))
}

// appendLiteral appends an unquoted part of a word, which may contain placeholders.
func (r *commandAnalyzer) appendLiteral(w *commandWord, value string) {
	first := strings.Index(value, r.markerPrefix)
	if first < 0 {
		plain := !strings.ContainsAny(value, expansionChars)
		w.appendText(value, plain)
		w.nameKnown = w.nameKnown || !plain && strings.Contains(value, "/") &&
			!strings.ContainsAny(path.Base(value), expansionChars)
		return
	}
	if len(w.placeholders) == 0 {
		w.textBefore = w.text + value[:first]
	}
	w.appendText(value, false)
	// A backslash before the placeholder would escape its quote, and braces would make several
	// words.
	w.nestedPlaceholder = w.nestedPlaceholder || strings.ContainsAny(value, "\\{}")
	for rest := value; ; {
		i := strings.Index(rest, r.markerPrefix)
		if i < 0 {
			return
		}
		rest = rest[i+len(r.markerPrefix):]
		n, _ := strconv.Atoi(rest[:markerDigits])
		w.placeholders = append(w.placeholders, n)
	}
}

// doubleQuotedText returns the text in double quotes, and whether it has no expansions or escapes.
func doubleQuotedText(q *syntax.DblQuoted) (text string, plain bool) {
	plain = !q.Dollar
	var b strings.Builder
	for _, part := range q.Parts {
		l, ok := part.(*syntax.Lit)
		if !ok || strings.Contains(l.Value, `\`) {
			plain = false
			continue
		}
		b.WriteString(l.Value)
	}
	return b.String(), plain
}

// programName returns the base name of a program's path. Only the folder may contain expansions.
func programName(w commandWord) string { return path.Base(w.text) }

var versionSuffix = lazyregexp.New(`[0-9.]+$`)

// lookupProgram finds a program in a table by its name, or by its name without a version number:
// python3.12 is listed as python.
func lookupProgram[V any](table map[string]V, name string) (V, bool) {
	v, ok := table[name]
	if !ok {
		v, ok = table[versionSuffix().ReplaceAllString(name, "")]
	}
	return v, ok
}
