package config

import (
	"fmt"
	"path/filepath"
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkVariables refuses a command that evaluates a variable which holds what a program made of the
// text, as in x=$(tr a b {message}); eval "$x".
func (r *commandReader) checkVariables(file *syntax.File) (err error) {
	held := r.holders(file)
	syntax.Walk(file, func(node syntax.Node) bool {
		if name := r.evaluated(node, held); name != "" && err == nil {
			err = fmt.Errorf("$%s is made of %s and would be evaluated", name, Placeholder)
		}
		return err == nil
	})
	return err
}

// evaluated names the variable that a part of a command evaluates; "": it evaluates none of them.
func (r *commandReader) evaluated(node syntax.Node, held map[string]bool) string {
	switch n := node.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, *syntax.CStyleLoop:
		return mentions(n, held, true)
	case *syntax.Assign:
		return mentions(n.Index, held, true)
	case *syntax.ArrayElem:
		return mentions(n.Index, held, true)
	case *syntax.ParamExp:
		return expandsTwice(n, held)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return mentions(n.X, held, true)
		}
	case *syntax.BinaryTest:
		if slices.Contains([]syntax.BinTestOperator{syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss, syntax.TsGtr}, n.Op) {
			return mentions(n, held, true)
		}
	case *syntax.CallExpr:
		return r.evaluatesVariable(n, held)
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && r.evaluator(n.Y) != "" {
			return mentions(n.X, held, false)
		}
	case *syntax.Stmt:
		return r.evaluatesInput(n, held)
	}
	return ""
}

// expandsTwice names a variable whose value an expansion evaluates, as ${a[$x]}, ${s:$x}, ${!x},
// ${x@P}, and zsh's ${(e)x} and ${~x} do.
func expandsTwice(p *syntax.ParamExp, held map[string]bool) string {
	parts := []syntax.Node{p.Index}
	if p.Slice != nil {
		parts = append(parts, p.Slice.Offset, p.Slice.Length)
	}
	for _, part := range parts {
		if name := mentions(part, held, true); name != "" {
			return name
		}
	}
	again := p.Excl || p.GlobSubst == syntax.OptOn || p.Flags != nil && strings.ContainsAny(p.Flags.Value, "eP%") || p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word.Lit() == "P"
	if again && p.Param != nil && held[p.Param.Value] {
		return p.Param.Value
	}
	return ""
}

// evaluatesInput names a variable that a redirection hands to a program which runs what it reads.
func (r *commandReader) evaluatesInput(s *syntax.Stmt, held map[string]bool) string {
	for _, redirect := range s.Redirs {
		from := []syntax.Node{redirect.Word, redirect.Hdoc}
		if r.evaluator(redirect) != "" { // as in echo "$x" > >(sh)
			from = []syntax.Node{s}
		} else if s.Cmd == nil || r.evaluator(s.Cmd) == "" {
			continue
		}
		for _, part := range from {
			if name := mentions(part, held, false); name != "" {
				return name
			}
		}
	}
	return ""
}

// firstReader names the program that reads standard input first, if it runs what it reads; "": it
// does not.
func firstReader(shell, command string) string {
	file, err := syntax.NewParser(syntax.Variant(shells[filepath.Base(shell)])).Parse(strings.NewReader(command), "")
	if err != nil {
		return ""
	}
	var first *syntax.CallExpr
	syntax.Walk(file, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && first == nil && len(c.Args) > 0 {
			first = c
		}
		return first == nil
	})
	if first == nil {
		return ""
	}
	r := commandReader{marks: "\x00"}
	return runsInput(r.words(first.Args))
}

// evaluatesVariable names the variable that a simple command evaluates; "": it evaluates none of
// them.
func (r *commandReader) evaluatesVariable(c *syntax.CallExpr, held map[string]bool) string {
	words := r.words(c.Args)
	for i, w := range c.Args {
		name := mentions(w, held, false)
		if name == "" || i > 0 && slices.Contains([]string{"test", "["}, c.Args[0].Lit()) && !slices.Contains([]string{"-v", "-R"}, words[i-1].text) {
			continue
		}
		inner, at, err := unwrap(words, i)
		if err == nil {
			err = evaluates(inner, at)
		}
		if err != nil {
			return name
		}
	}
	return ""
}

// holders are the variables that hold something made of the text, directly or by way of another
// one.
func (r *commandReader) holders(file *syntax.File) map[string]bool {
	held := map[string]bool{"_": true} // the last word of the command before
	for before := -1; before < len(held); {
		before = len(held)
		syntax.Walk(file, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.Assign:
				if n.Name != nil && n.Value != nil && (r.marked(n.Value) || mentions(n.Value, held, false) != "") {
					held[n.Name.Value] = true
				}
			case *syntax.WordIter:
				if slices.ContainsFunc(n.Items, func(w *syntax.Word) bool { return mentions(w, held, false) != "" }) {
					held[n.Name.Value] = true
				}
			case *syntax.BinaryCmd:
				if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && r.prints(n.X) {
					r.readers(n.Y, held)
				}
			}
			return true
		})
	}
	return held
}

// measures are programs that print numbers about what they read, and nothing of it.
var measures = strings.Fields("cksum sum wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum")

// prints reports whether a command writes the text itself to its output.
func (r *commandReader) prints(s *syntax.Stmt) bool {
	if pipe, ok := s.Cmd.(*syntax.BinaryCmd); ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll) {
		last, ok := pipe.Y.Cmd.(*syntax.CallExpr)
		measured := ok && len(last.Args) > 0 && slices.Contains(measures, program(r.word(last.Args[0])))
		return r.prints(pipe.X) && !measured
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || !r.marked(c) {
		return false
	}
	return slices.Contains([]string{"echo", "printf"}, program(r.word(c.Args[0])))
}

// readers adds the variables that a command reads from its input.
func (r *commandReader) readers(s *syntax.Stmt, held map[string]bool) {
	syntax.Walk(s, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "read" {
			for _, w := range c.Args[1:] {
				if name := w.Lit(); syntax.ValidName(name) {
					held[name] = true
				}
			}
		}
		return true
	})
}

// mentions names a variable of these that a part of a command expands; in arithmetic a bare name
// does.
func mentions(node syntax.Node, held map[string]bool, bare bool) (name string) {
	if v := reflect.ValueOf(node); !v.IsValid() || v.IsNil() {
		return ""
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch p := n.(type) {
		case *syntax.ParamExp:
			if p.Param != nil && held[p.Param.Value] {
				name = p.Param.Value
			}
		case *syntax.Lit:
			if bare && held[p.Value] {
				name = p.Value
			}
		}
		return name == ""
	})
	return name
}
