package placeholder

import (
	"fmt"
	"reflect"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// checkTaintedVariables returns an error if the command evaluates a variable whose value contains
// the message, as in x=$(tr a b {message}); eval "$x".
func (r *commandAnalyzer) checkTaintedVariables(file *syntax.File) (err error) {
	tainted := r.taintedVariables(file)
	syntax.Walk(file, func(node syntax.Node) bool {
		if name := r.evaluatedVariable(node, tainted); name != "" && err == nil {
			err = fmt.Errorf("$%s contains %s and would be evaluated", name, Message)
		}
		return err == nil
	})
	return err
}

// evaluatedVariable returns the name of a tainted variable that the node itself evaluates, or "".
func (r *commandAnalyzer) evaluatedVariable(node syntax.Node, tainted map[string]bool) string {
	switch n := node.(type) {
	case *syntax.ArithmExp, *syntax.ArithmCmd, *syntax.LetClause, *syntax.DeclClause, *syntax.CStyleLoop:
		return findTainted(n, tainted, true)
	case *syntax.Assign:
		return findTainted(n.Index, tainted, true)
	case *syntax.ArrayElem:
		return findTainted(n.Index, tainted, true)
	case *syntax.ParamExp:
		return variableExpandedTwice(n, tainted)
	case *syntax.UnaryTest:
		if n.Op == syntax.TsVarSet || n.Op == syntax.TsRefVar {
			return findTainted(n.X, tainted, true)
		}
	case *syntax.BinaryTest:
		if slices.Contains([]syntax.BinTestOperator{
			syntax.TsEql, syntax.TsNeq, syntax.TsLeq, syntax.TsGeq, syntax.TsLss,
			syntax.TsGtr,
		}, n.Op) {
			return findTainted(n, tainted, true)
		}
	case *syntax.CallExpr:
		return r.variableEvaluatedByCall(n, tainted)
	case *syntax.BinaryCmd:
		if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && r.findInputEvaluator(n.Y) != "" {
			return findTainted(n.X, tainted, false)
		}
	case *syntax.Stmt:
		return r.variableEvaluatedAsInput(n, tainted)
	}
	return ""
}

// variableExpandedTwice returns the name of a tainted variable whose value a parameter expansion
// evaluates, or "". Such expansions are ${a[$x]}, ${s:$x}, ${!x}, ${x@P}, and ${(e)x} and ${~x} of
// zsh.
func variableExpandedTwice(p *syntax.ParamExp, tainted map[string]bool) string {
	parts := []syntax.Node{p.Index}
	if p.Slice != nil {
		parts = append(parts, p.Slice.Offset, p.Slice.Length)
	}
	for _, part := range parts {
		if name := findTainted(part, tainted, true); name != "" {
			return name
		}
	}
	again := p.Excl || p.GlobSubst == syntax.OptOn || p.Flags != nil && strings.ContainsAny(p.Flags.Value, "eP%") ||
		p.Exp != nil && p.Exp.Op == syntax.OtherParamOps && p.Exp.Word.Lit() == "P"
	if again && p.Param != nil && tainted[p.Param.Value] {
		return p.Param.Value
	}
	return ""
}

// variableEvaluatedAsInput returns the name of a tainted variable that is redirected into a program
// that executes its input, or "".
func (r *commandAnalyzer) variableEvaluatedAsInput(s *syntax.Stmt, tainted map[string]bool) string {
	for _, redirect := range s.Redirs {
		from := []syntax.Node{redirect.Word, redirect.Hdoc}
		if r.findInputEvaluator(redirect) != "" { // as in echo "$x" > >(sh)
			from = []syntax.Node{s}
		} else if s.Cmd == nil || r.findInputEvaluator(s.Cmd) == "" {
			continue
		}
		for _, part := range from {
			if name := findTainted(part, tainted, false); name != "" {
				return name
			}
		}
	}
	return ""
}

// variableEvaluatedByCall returns the name of a tainted variable that a simple command evaluates,
// or "".
func (r *commandAnalyzer) variableEvaluatedByCall(c *syntax.CallExpr, tainted map[string]bool) string {
	words := r.parseWords(c.Args)
	for i, w := range c.Args {
		name := findTainted(w, tainted, false)
		if name == "" || i > 0 && slices.Contains([]string{"test", "["}, c.Args[0].Lit()) &&
			!slices.Contains([]string{"-v", "-R"}, words[i-1].text) {
			continue
		}
		inner, at, err := skipWrappers(words, i)
		if err == nil {
			err = refuseEvaluation(inner, at)
		}
		if err != nil {
			return name
		}
	}
	return ""
}

// taintedVariables returns the variables whose value is derived from the message, directly or
// through other variables.
func (r *commandAnalyzer) taintedVariables(file *syntax.File) map[string]bool {
	tainted := map[string]bool{"_": true} // $_ is the last argument of the previous command
	for before := -1; before < len(tainted); {
		before = len(tainted)
		syntax.Walk(file, func(node syntax.Node) bool {
			switch n := node.(type) {
			case *syntax.Assign:
				if n.Name != nil && n.Value != nil &&
					(r.containsPlaceholder(n.Value) || findTainted(n.Value, tainted, false) != "") {
					tainted[n.Name.Value] = true
				}
			case *syntax.WordIter:
				if slices.ContainsFunc(n.Items, func(w *syntax.Word) bool { return findTainted(w, tainted, false) != "" }) {
					tainted[n.Name.Value] = true
				}
			case *syntax.BinaryCmd:
				if (n.Op == syntax.Pipe || n.Op == syntax.PipeAll) && r.printsMessage(n.X) {
					r.taintReadVariables(n.Y, tainted)
				}
			}
			return true
		})
	}
	return tainted
}

// digestPrograms print only numbers or checksums of their input, so their output is not tainted.
var digestPrograms = strings.Fields("cksum sum wc md5sum sha1sum sha224sum sha256sum sha384sum sha512sum b2sum")

// printsMessage reports whether a command prints the text of the message.
func (r *commandAnalyzer) printsMessage(s *syntax.Stmt) bool {
	if pipe, ok := s.Cmd.(*syntax.BinaryCmd); ok && (pipe.Op == syntax.Pipe || pipe.Op == syntax.PipeAll) {
		last, ok := pipe.Y.Cmd.(*syntax.CallExpr)
		measured := ok && len(last.Args) > 0 && slices.Contains(digestPrograms, programName(r.parseWord(last.Args[0])))
		return r.printsMessage(pipe.X) && !measured
	}
	c, ok := s.Cmd.(*syntax.CallExpr)
	if !ok || len(c.Args) == 0 || !r.containsPlaceholder(c) {
		return false
	}
	return slices.Contains([]string{"echo", "printf"}, programName(r.parseWord(c.Args[0])))
}

// taintReadVariables adds the variables that read commands in s set from their input.
func (r *commandAnalyzer) taintReadVariables(s *syntax.Stmt, tainted map[string]bool) {
	syntax.Walk(s, func(node syntax.Node) bool {
		if c, ok := node.(*syntax.CallExpr); ok && len(c.Args) > 0 && c.Args[0].Lit() == "read" {
			for _, w := range c.Args[1:] {
				if name := w.Lit(); syntax.ValidName(name) {
					tainted[name] = true
				}
			}
		}
		return true
	})
}

// findTainted returns the name of a tainted variable that node expands, or "". With bare, a name
// without $ counts too, as it does in arithmetic.
func findTainted(node syntax.Node, tainted map[string]bool, bare bool) (name string) {
	if v := reflect.ValueOf(node); !v.IsValid() || v.IsNil() {
		return ""
	}
	syntax.Walk(node, func(n syntax.Node) bool {
		switch p := n.(type) {
		case *syntax.ParamExp:
			if p.Param != nil && tainted[p.Param.Value] {
				name = p.Param.Value
			}
		case *syntax.Lit:
			if bare && tainted[p.Value] {
				name = p.Value
			}
		}
		return name == ""
	})
	return name
}
