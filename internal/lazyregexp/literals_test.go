package lazyregexp_test

import (
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// TestAllLazyExpressionsAreValid compiles every expression of the program, because an invalid one
// would panic only at its first use. config has a function of its own, since it imports nothing.
func TestAllLazyExpressionsAreValid(t *testing.T) {
	found := 0
	err := filepath.WalkDir("../..", func(path string, d fs.DirEntry, err error) error {
		if err != nil {
			return unlessMissing(err)
		}
		if d.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
			return nil
		}
		file, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			return unlessMissing(err)
		}
		ast.Inspect(file, func(n ast.Node) bool {
			if call, ok := n.(*ast.CallExpr); ok && len(call.Args) == 1 && isLazy(call.Fun) {
				found++
				checkExpression(t, path, call.Args[0])
			}
			return true
		})
		return nil
	})
	if err != nil || found < 30 {
		t.Errorf("found %d expressions, %v", found, err)
	}
}

// unlessMissing returns nil for a file that has disappeared, as temporary files of other tests do.
func unlessMissing(err error) error {
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	return err
}

// isLazy reports whether a function is New of this package, or config's.
func isLazy(function ast.Expr) bool {
	switch f := function.(type) {
	case *ast.SelectorExpr:
		pkg, ok := f.X.(*ast.Ident)
		return ok && pkg.Name == "lazyregexp" && f.Sel.Name == "New"
	case *ast.Ident:
		return f.Name == "lazyRegexp"
	}
	return false
}

// checkExpression compiles an expression that is a sum of literals. One that is built of other
// values cannot be checked here, and its own tests have to use it.
func checkExpression(t *testing.T, path string, e ast.Expr) {
	t.Helper()
	if text, ok := literal(e); ok {
		if _, err := regexp.Compile(text); err != nil {
			t.Errorf("%s: %v", path, err)
		}
	}
}

func literal(e ast.Expr) (string, bool) {
	switch e := e.(type) {
	case *ast.BasicLit:
		text, err := strconv.Unquote(e.Value)
		return text, err == nil
	case *ast.BinaryExpr:
		left, ok := literal(e.X)
		right, also := literal(e.Y)
		return left + right, ok && also
	}
	return "", false
}
