package config

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkVariables refuses a command that evaluates a variable which holds what a program made of the text, as in
// x=$(tr a b {message}); eval "$x".
func (r *commandReader) checkVariables(file *syntax.File) (err error) {
	held := r.holders(file)
	syntax.Walk(file, func(node syntax.Node) bool {
		switch n := node.(type) {
		case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause:
			if name := mentions(n, held, true); name != "" && err == nil {
				err = fmt.Errorf("$%s is made of %s and would be evaluated", name, Placeholder)
			}
		case *syntax.CallExpr:
			if name := r.evaluatesVariable(n, held); name != "" && err == nil {
				err = fmt.Errorf("$%s is made of %s and would be evaluated", name, Placeholder)
			}
		}
		return err == nil
	})
	return err
}

// firstReader names the program that reads standard input first, if it runs what it reads; "": it does not.
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

// evaluatesVariable names the variable that a simple command evaluates; "": it evaluates none of them.
func (r *commandReader) evaluatesVariable(c *syntax.CallExpr, held map[string]bool) string {
	words := r.words(c.Args)
	for i, w := range c.Args {
		name := mentions(w, held, false)
		if name == "" || words[0].named && slices.Contains([]string{"test", "["}, program(words[0])) {
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

// holders are the variables that hold something made of the text, directly or by way of another one.
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

// prints reports whether a command writes the text itself to its output.
func (r *commandReader) prints(s *syntax.Stmt) bool {
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

// mentions names a variable of these that a part of a command expands; in arithmetic a bare name does.
func mentions(node syntax.Node, held map[string]bool, bare bool) (name string) {
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
