package words_test

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// root is the folder of the repository.
const root = "../.."

// speaking are the folders whose packages write to people in chats, with all folders below them.
var speaking = []string{"gateway", "channels", "terminal"}

// sourceFile is a file of the program, without tests.
type sourceFile struct {
	path string // below root, with slashes
	set  *token.FileSet
	tree *ast.File
}

// parseFiles parses the files of the program below some folders.
func parseFiles(t *testing.T, folders ...string) (all []sourceFile) {
	t.Helper()
	for _, folder := range folders {
		err := filepath.WalkDir(filepath.Join(root, folder), func(at string, d fs.DirEntry, err error) error {
			if err == nil && d.IsDir() && strings.HasSuffix(d.Name(), "test") { // a package for tests
				return fs.SkipDir
			}
			if err != nil || d.IsDir() || !strings.HasSuffix(at, ".go") || strings.HasSuffix(at, "_test.go") {
				return err
			}
			rel, err := filepath.Rel(root, at)
			if err != nil {
				return err
			}
			set := token.NewFileSet()
			tree, err := parser.ParseFile(set, at, nil, parser.SkipObjectResolution)
			all = append(all, sourceFile{filepath.ToSlash(rel), set, tree})
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	return all
}

// sentence matches a text with two words, and one that begins like a sentence and ends like one.
var sentence = regexp.MustCompile(`\pL{2,}[,:;]? +\(?\pL|\pL{2,} +%[dsqvg]|%[dsqvg] +\pL{2,}|^\p{Lu}\pL+[.!?…:]$`)

// code matches texts that are not language: SQL, HTML, headers, and the messages about retries in
// the log.
var code = regexp.MustCompile(`^ ?[A-Z]{4,} [\w*?]|^<\w|^ ?[\w-]+="|^form-data;|; charset=|^(private|Accept-Encoding), |, will retry$|^/\w+ \S+$`)

// shownFields are the fields whose texts people see, so that even a single word is language.
var shownFields = regexp.MustCompile(`^(Text|Label|Help|Title|Caption|Placeholder)$`)

// word matches a word of a language.
var word = regexp.MustCompile(`\pL{2,}`)

// silentCalls are the functions whose arguments people in chats do not see: errors and logs are for
// operators, expressions for programs.
var silentCalls = regexp.MustCompile(`^(fmt\.Errorf|errors\.New|panic|regexp\.MustCompile|lazyregexp\.New|zap\..*|.*[lL]og\.(Debug|Info|Warn|Error|DPanic|Fatal)|.*\.(Debug|Info|Warn|Error)|.*\.(Exec|Query|QueryRow|ExecContext|QueryContext|QueryRowContext)|strings\.(NewReplacer|Contains|HasPrefix|HasSuffix|Split|CutPrefix|CutSuffix|TrimPrefix|TrimSuffix))$`)

// literal is a text in the program that reads like one for people.
type literal struct {
	function string // where it is; "": outside of functions
	text     string
	line     int
}

// findLiterals returns the texts of a file that read like texts for people.
func findLiterals(f sourceFile) (found []literal) {
	for _, d := range f.tree.Decls {
		name, shown := "", map[ast.Expr]bool{}
		if function, ok := d.(*ast.FuncDecl); ok {
			name = function.Name.Name
		}
		ast.Inspect(d, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.ImportSpec:
				return false
			case *ast.Field:
				n.Tag = nil
			case *ast.CallExpr:
				return !silentCalls.MatchString(exprName(n.Fun))
			case *ast.CompositeLit:
				return !isLogFrame(n)
			case *ast.KeyValueExpr:
				shown[n.Value] = shownFields.MatchString(exprName(n.Key))
			case *ast.AssignStmt:
				for i, left := range n.Lhs {
					if field, ok := left.(*ast.SelectorExpr); ok && i < len(n.Rhs) {
						shown[n.Rhs[i]] = shownFields.MatchString(field.Sel.Name)
					}
				}
			case *ast.BasicLit:
				if n.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(n.Value)
				if err == nil && !code.MatchString(text) && (sentence.MatchString(text) || shown[n] && word.MatchString(text)) {
					found = append(found, literal{name, text, f.set.Position(n.Pos()).Line})
				}
			}
			return true
		})
	}
	return found
}

// exprName returns a name such as fmt.Errorf.
func exprName(e ast.Expr) string {
	switch e := e.(type) {
	case *ast.Ident:
		return e.Name
	case *ast.SelectorExpr:
		return exprName(e.X) + "." + e.Sel.Name
	}
	return ""
}

// isLogFrame reports whether a composite literal is a frame for the log.
func isLogFrame(c *ast.CompositeLit) bool {
	return slices.ContainsFunc(c.Elts, func(e ast.Expr) bool {
		kv, ok := e.(*ast.KeyValueExpr)
		return ok && exprName(kv.Key) == "Kind" && strings.HasSuffix(exprName(kv.Value), "Log")
	})
}

// exceptionOf returns the name of the exception that covers a literal: the function in a file, the
// file, or a folder above it; "": none.
func exceptionOf(file string, l literal) string {
	for _, name := range []string{file + " " + l.function, file} {
		if _, ok := exceptions[name]; ok {
			return name
		}
	}
	for dir := path.Dir(file); dir != "."; dir = path.Dir(dir) {
		if _, ok := exceptions[dir]; ok {
			return dir
		}
	}
	return ""
}

func TestTextsForPeopleAreInTheCatalogue(t *testing.T) {
	used := map[string]bool{}
	for _, f := range parseFiles(t, speaking...) {
		for _, l := range findLiterals(f) {
			if e := exceptionOf(f.path, l); e != "" {
				used[e] = true
				continue
			}
			t.Errorf("%s:%d: %q reads like a text for people in chats, which belongs into the catalogue (function %s)", f.path, l.line, l.text, l.function)
		}
	}
	for name, reason := range exceptions {
		if !used[name] || reason == "" {
			t.Errorf("the exception %q is not needed, or has no reason", name)
		}
	}
}
