package config

import (
	"fmt"
	"path"
	"regexp"
	"strconv"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// commandReader finds out how the placeholders stand in a command. It descends only into what it
// knows: a placeholder that it does not come across stands where the shell reads a word by other
// rules, or twice.
type commandReader struct {
	marks     string // what the words begin with that stand for placeholders; a number follows
	uses      []*textUse
	functions map[string]bool // that the command defines
}

// markDigits is how long the number behind a mark is.
const markDigits = 6

func (r *commandReader) markSize() int { return len(r.marks) + markDigits }

// word is one word of a simple command, as far as it can be known before the command runs.
type word struct {
	text  string // without the parts that are not known
	known bool   // the text is the whole word
	named bool   // the text behind the last slash is known, as of "$HOME/bin/agent"
	marks []int  // the placeholders that stand in it, as plain parts of the word
	other bool   // a placeholder stands deeper in it, such as in a command substitution
	// before is the text in front of the first placeholder.
	before string
	// leads says that the word begins with a placeholder, ends that it ends with one, and whole
	// that it is nothing else.
	leads, ends, whole bool
}

func (r *commandReader) read(file *syntax.File) error {
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
		return fmt.Errorf("%s cannot be used beside an alias, which may evaluate it", Placeholder)
	}
	if err := r.statements(file.Stmts); err != nil {
		return err
	}
	return r.checkVariables(file)
}

func (r *commandReader) statements(all []*syntax.Stmt) error {
	for _, s := range all {
		if err := r.statement(s); err != nil {
			return err
		}
	}
	return nil
}

func (r *commandReader) statement(s *syntax.Stmt) error {
	if s == nil || !r.marked(s) {
		return nil
	}
	for _, redirect := range s.Redirs {
		if redirect.Word != nil && redirect.Hdoc == nil && r.marked(redirect.Word) {
			return fmt.Errorf("%s in a redirection would let the user choose a file, or feed a program that evaluates it", Placeholder)
		}
		if program := r.evaluator(redirect); program != "" { // as in echo {message} > >(sh)
			return fmt.Errorf("%s would be evaluated by %s behind the redirection", Placeholder, program)
		}
	}
	switch c := s.Cmd.(type) {
	case *syntax.CallExpr:
		return r.call(c)
	case *syntax.BinaryCmd:
		return r.binary(c)
	case *syntax.Block:
		return r.statements(c.Stmts)
	case *syntax.Subshell:
		return r.statements(c.Stmts)
	case *syntax.IfClause:
		for ; c != nil; c = c.Else {
			if err := r.statements(append(c.Cond[:len(c.Cond):len(c.Cond)], c.Then...)); err != nil {
				return err
			}
		}
	case *syntax.WhileClause:
		return r.statements(append(c.Cond[:len(c.Cond):len(c.Cond)], c.Do...))
	case *syntax.ForClause:
		return r.statements(c.Do)
	case *syntax.CaseClause:
		if w := r.word(c.Word); w.whole {
			r.accept(w, textUse{})
		}
		for _, item := range c.Items {
			if err := r.statements(item.Stmts); err != nil {
				return err
			}
		}
	case *syntax.FuncDecl:
		return r.statement(c.Body)
	case *syntax.TimeClause:
		return r.statement(c.Stmt)
	case *syntax.DeclClause:
		return fmt.Errorf("%s in %s would be evaluated", Placeholder, c.Variant.Value)
	}
	return nil
}

func (r *commandReader) binary(c *syntax.BinaryCmd) error {
	if (c.Op == syntax.Pipe || c.Op == syntax.PipeAll) && r.marked(c.X) {
		if program := r.evaluator(c.Y); program != "" {
			return fmt.Errorf("%s would be evaluated by %s behind the pipe", Placeholder, program)
		}
	}
	if err := r.statement(c.X); err != nil {
		return err
	}
	return r.statement(c.Y)
}

// evaluator names a program in a later part of a pipeline, or at the other end of a redirection,
// that runs what it reads; "": there is none.
func (r *commandReader) evaluator(later syntax.Node) (program string) {
	syntax.Walk(later, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && len(c.Args) > 0 && program == "" {
			words := r.words(c.Args)
			if r.functions[words[0].text] {
				program = "the shell function " + words[0].text
				return false
			}
			program = runsInput(words)
		}
		return program == ""
	})
	return program
}

func (r *commandReader) call(c *syntax.CallExpr) error {
	for _, a := range c.Assigns {
		if !r.marked(a) {
			continue
		}
		stmts := output(a)
		if stmts == nil {
			return fmt.Errorf("%s cannot be assigned to a variable, because nobody knows where that is evaluated", Placeholder)
		}
		if err := r.statements(stmts); err != nil {
			return err
		}
	}
	words := r.words(c.Args)
	for i, w := range words {
		if len(w.marks) == 0 {
			continue
		}
		if r.functions[words[0].text] {
			return fmt.Errorf("%s cannot be handed to the shell function %s, which may evaluate it", Placeholder, words[0].text)
		}
		p, err := classifyUse(words, i)
		if err != nil {
			return err
		}
		r.accept(w, p)
	}
	return nil
}

// output is the command whose output an assignment takes, where it takes nothing else.
func output(a *syntax.Assign) []*syntax.Stmt {
	if a.Index != nil || a.Array != nil || a.Value == nil || len(a.Value.Parts) != 1 {
		return nil
	}
	if s, ok := a.Value.Parts[0].(*syntax.CmdSubst); ok && !s.Backquotes {
		return s.Stmts
	}
	return nil
}

func (r *commandReader) accept(w word, p textUse) {
	if w.other {
		return
	}
	for _, i := range w.marks {
		r.uses[i] = &p
	}
}

// marked reports whether a placeholder stands anywhere in a part of the command.
func (r *commandReader) marked(node syntax.Node) (found bool) {
	syntax.Walk(node, func(n syntax.Node) bool {
		switch l := n.(type) {
		case *syntax.Lit:
			found = found || strings.Contains(l.Value, r.marks)
		case *syntax.SglQuoted:
			found = found || strings.Contains(l.Value, r.marks)
		}
		return !found
	})
	return found
}

func (r *commandReader) words(all []*syntax.Word) []word {
	words := make([]word, len(all))
	for i, w := range all {
		words[i] = r.word(w)
	}
	return words
}

// expands are the characters by which the shell makes other words of a plain one. A backslash hides
// what is behind it.
const expands = "\\{}*?["

func (r *commandReader) word(w *syntax.Word) word {
	out := word{known: true, named: true}
	for i, part := range w.Parts {
		out.ends = false
		switch p := part.(type) {
		case *syntax.Lit:
			r.literal(&out, p.Value)
			out.leads = out.leads || i == 0 && strings.HasPrefix(p.Value, r.marks)
			out.ends = len(p.Value) >= r.markSize() && strings.HasPrefix(p.Value[len(p.Value)-r.markSize():], r.marks)
		case *syntax.SglQuoted:
			out.add(p.Value, !p.Dollar)
			out.other = out.other || r.marked(p)
		case *syntax.DblQuoted:
			text, plain := quotedText(p)
			out.add(text, plain)
			out.other = out.other || r.marked(p)
		default:
			out.add("", false)
			out.other = out.other || r.marked(p)
		}
	}
	out.whole = out.leads && out.ends && len(w.Parts) == 1 && len(out.marks) == 1
	return out
}

func (w *word) add(text string, known bool) {
	w.text += text
	w.known = w.known && known
	w.named = known && (w.named || strings.Contains(text, "/"))
}

// literal adds a part without quotes, in which placeholders may stand.
func (r *commandReader) literal(w *word, value string) {
	first := strings.Index(value, r.marks)
	if first < 0 {
		plain := !strings.ContainsAny(value, expands)
		w.add(value, plain)
		w.named = w.named || !plain && strings.Contains(value, "/") && !strings.ContainsAny(path.Base(value), expands)
		return
	}
	if len(w.marks) == 0 {
		w.before = w.text + value[:first]
	}
	w.add(value, false)
	// A backslash would take the quote's meaning away, and braces would make several words.
	w.other = w.other || strings.ContainsAny(value, "\\{}")
	for rest := value; ; {
		i := strings.Index(rest, r.marks)
		if i < 0 {
			return
		}
		rest = rest[i+len(r.marks):]
		n, _ := strconv.Atoi(rest[:markDigits])
		w.marks = append(w.marks, n)
	}
}

// quotedText is the text in double quotes, if it is plain.
func quotedText(q *syntax.DblQuoted) (text string, plain bool) {
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

// program is the name of a command without its folder. The folder may be in a variable, the name
// may not.
func program(w word) string { return path.Base(w.text) }

var version = regexp.MustCompile(`[0-9.]+$`)

// findProgram finds a program in a table by its name, or by its name without a version: python3.12
// is python.
func findProgram[V any](table map[string]V, name string) (V, bool) {
	v, ok := table[name]
	if !ok {
		v, ok = table[version.ReplaceAllString(name, "")]
	}
	return v, ok
}
