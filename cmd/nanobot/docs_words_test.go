package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"nanobot/internal/musttest"
)

// retiredWords maps the words of the table in testdata/retired-words.md to their replacements, by
// where they may not be used.
type retiredWords struct {
	names     map[string]string // as a word of an identifier
	text      map[string]string // in comments, messages and docs
	functions map[string]string // as the whole name of a function or method outside of tests
}

// TestRetiredWordsDoNotComeBack checks names, comments, messages and docs against the table of
// testdata/retired-words.md.
func TestRetiredWordsDoNotComeBack(t *testing.T) {
	t.Parallel()
	page := musttest.Get(os.ReadFile(filepath.Join("testdata", "retired-words.md")))(t)
	words := readRetiredWords(string(page))
	if len(words.names) < 40 || len(words.text) < 15 || len(words.functions) < 10 {
		t.Fatalf("the table of retired words cannot be read: %d in names, %d in text, %d functions",
			len(words.names), len(words.text), len(words.functions))
	}
	for _, path := range sourceFiles(t) {
		if strings.Contains(filepath.ToSlash(path), "/testdata/") {
			continue
		}
		var find func(source []byte) []string
		switch filepath.Ext(path) {
		case ".go":
			find = func(source []byte) []string { return words.findInGo(t, path, source) }
		case ".md", ".js", ".html", ".jsonc":
			find = func(source []byte) []string { return words.findInText(path, string(source)) }
		default:
			continue
		}
		source := musttest.Get(os.ReadFile(path))(t)
		for _, f := range find(source) {
			t.Error(f)
		}
	}
}

// TestCommentsWrapAt100Columns looks at lines that are comments; a tab counts as four columns.
func TestCommentsWrapAt100Columns(t *testing.T) {
	t.Parallel()
	for _, path := range sourceFiles(t) {
		if filepath.Ext(path) != ".go" {
			continue
		}
		source := musttest.Get(os.ReadFile(path))(t)
		n := 0
		for line := range strings.Lines(string(source)) {
			n++
			line = strings.ReplaceAll(strings.TrimRight(line, "\n"), "\t", "    ")
			text := strings.TrimLeft(line, " ")
			isDirective := strings.HasPrefix(text, "//go:") || strings.HasPrefix(text, "//nolint")
			if width := utf8.RuneCountInString(line); strings.HasPrefix(text, "//") && !isDirective && width > 100 {
				t.Errorf("%s:%d: the comment has %d columns", path, n, width)
			}
		}
	}
}

// TestARetiredWordIsFound shows each kind of finding.
func TestARetiredWordIsFound(t *testing.T) {
	t.Parallel()
	words := readRetiredWords(`# Retired words

| word | where | instead |
| --- | --- | --- |
| lantern | names | cgroup |
| kite | text | connect |
| anvil | names, text | fixture |
| keep | function | a verb with its object |
`)
	for source, want := range map[string]int{
		`package p; type processLantern int`:                                 1,
		`package p; func f() { lantern := 1; _ = lantern }`:                  2,
		`package p; func f() { x.Lantern() }`:                                0, // declared elsewhere
		`package p; func f() { _ = T{Lantern: 1} }`:                          0,
		"package p\n\n// It may kite, or Kite.\nvar a int":                   2,
		`package p; const a = "a lantern"`:                                   0,
		`package p; const a = "kite: %w"`:                                    1,
		`package p; func newAnvil() {} // of a anvil`:                        2,
		`package p; func TestALanternIsMadeOfANVILParts(t *testing.T) {}`:    2,
		`package p; var anvil_2, manvil, newAgeRIGHT int`:                    1,
		`package p; func (t T) keep() {}`:                                    1,
		`package p; func keepCopy() { var keep int; _ = keep }`:              0,
		"package p\n\nimport \"kite/anvil\"\n\nvar anvils, Anviled, BIG int": 0,
	} {
		if got := words.findInGo(t, "p.go", []byte(source)); len(got) != want {
			t.Errorf("%s: found %q, expected %d", source, got, want)
		}
	}
	if got := words.findInGo(t, "p_test.go", []byte(`package p; func (t T) keep() {}`)); len(got) != 0 {
		t.Errorf("the name of a test's function: found %q", got)
	}
	if got := words.findInText("page.md", "They kite at the anvil.\nA lantern."); len(got) != 2 {
		t.Errorf("text: found %q", got)
	}
}

func readRetiredWords(page string) retiredWords {
	w := retiredWords{names: map[string]string{}, text: map[string]string{}, functions: map[string]string{}}
	for line := range strings.Lines(page) {
		column := strings.Split(strings.TrimSpace(line), " | ")
		if len(column) != 3 {
			continue
		}
		for word := range strings.SplitSeq(strings.TrimPrefix(column[0], "| "), ", ") {
			instead := strings.TrimSuffix(column[2], " |")
			for where := range strings.SplitSeq(column[1], ", ") {
				switch where {
				case "names":
					w.names[word] = instead
				case "text":
					w.text[word] = instead
				case "function":
					w.functions[word] = instead
				}
			}
		}
	}
	return w
}

// findInGo looks at the names that the file declares or uses unqualified, at its comments and at
// its string literals.
func (w retiredWords) findInGo(t *testing.T, path string, source []byte) []string {
	t.Helper()
	files := token.NewFileSet()
	file := musttest.Get(parser.ParseFile(files, path, source, parser.ParseComments|parser.SkipObjectResolution))(t)
	var found []string
	report := func(at token.Pos, word, instead string) {
		found = append(found, files.Position(at).String()+": "+word+" is a retired word; write "+instead)
	}
	var inspect func(ast.Node) bool
	inspect = func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ImportSpec:
			return false
		case *ast.SelectorExpr:
			ast.Inspect(n.X, inspect)
			return false
		case *ast.KeyValueExpr:
			if _, field := n.Key.(*ast.Ident); field {
				ast.Inspect(n.Value, inspect)
				return false
			}
		case *ast.FuncDecl:
			if instead := w.functions[n.Name.Name]; instead != "" && !strings.HasSuffix(path, "_test.go") {
				report(n.Name.Pos(), n.Name.Name, instead)
			}
		case *ast.Ident:
			for _, word := range splitName(n.Name) {
				if instead := w.names[word]; instead != "" {
					report(n.Pos(), n.Name, instead)
				}
			}
		case *ast.BasicLit:
			if n.Kind == token.STRING {
				w.eachInText(n.Value, func(word, instead string) { report(n.Pos(), word, instead) })
			}
		}
		return true
	}
	ast.Inspect(file, inspect)
	for _, group := range file.Comments {
		w.eachInText(group.Text(), func(word, instead string) { report(group.Pos(), word, instead) })
	}
	return found
}

// splitName returns the words of a name in lower case: parseHTTPFile has parse, http and file.
func splitName(name string) []string {
	isUpper := func(i int) bool { return i < len(name) && 'A' <= name[i] && name[i] <= 'Z' }
	isLower := func(i int) bool { return i < len(name) && 'a' <= name[i] && name[i] <= 'z' }
	var words []string
	begin := 0
	for i := 1; i <= len(name); i++ {
		if i == len(name) || isUpper(i) && (!isUpper(i-1) || isLower(i+1)) || !isUpper(i) && !isLower(i) {
			words = append(words, strings.ToLower(strings.TrimLeft(name[begin:i], "_0123456789")))
			begin = i
		}
	}
	return words
}

func (w retiredWords) findInText(path, text string) []string {
	var found []string
	w.eachInText(text, func(word, instead string) {
		found = append(found, path+": "+word+" is a retired word; write "+instead)
	})
	return found
}

func (w retiredWords) eachInText(text string, report func(word, instead string)) {
	notLetter := func(r rune) bool { return (r < 'A' || r > 'Z') && (r < 'a' || r > 'z') }
	for word := range strings.FieldsFuncSeq(text, notLetter) { // with the race detector, a regular expression takes long
		if instead := w.text[strings.ToLower(word)]; instead != "" {
			report(word, instead)
		}
	}
}
