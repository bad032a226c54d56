package words_test

import (
	"go/ast"
	"go/token"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/words"
)

// keyNames returns the keys of the catalogue by the names of their constants.
func keyNames(t *testing.T) map[string]words.Key {
	t.Helper()
	names := map[string]words.Key{}
	for _, f := range parseFiles(t, "internal/words") {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			spec, ok := n.(*ast.ValueSpec)
			if !ok || exprName(spec.Type) != "Key" || len(spec.Values) != 1 {
				return true
			}
			if value, ok := spec.Values[0].(*ast.BasicLit); ok && value.Kind == token.STRING {
				text, _ := strconv.Unquote(value.Value)
				names[spec.Names[0].Name] = words.Key(text)
			}
			return true
		})
	}
	return names
}

// textFunctions returns the functions whose last parameters are a key and its values, by name, with
// the index of the key.
func textFunctions(files []sourceFile) map[string][]int {
	found := map[string][]int{}
	for _, f := range files {
		for _, d := range f.tree.Decls {
			function, ok := d.(*ast.FuncDecl)
			if !ok {
				continue
			}
			var types []string
			for _, p := range function.Type.Params.List {
				name := exprName(p.Type)
				if rest, ok := p.Type.(*ast.Ellipsis); ok {
					name = "..." + exprName(rest.Elt)
				}
				types = append(types, slices.Repeat([]string{name}, max(1, len(p.Names)))...)
			}
			n := len(types)
			if n >= 2 && types[n-1] == "...any" && (types[n-2] == "words.Key" || types[n-2] == "Key") {
				found[function.Name.Name] = append(found[function.Name.Name], n-2)
			}
		}
	}
	return found
}

var placeholder = regexp.MustCompile(`\{(\w+)[|}]`)

// countPlaceholders returns how many values a text has.
func countPlaceholders(k words.Key) int {
	names := map[string]bool{}
	for _, m := range placeholder.FindAllStringSubmatch(words.Template(k, words.English), -1) {
		names[m[1]] = true
	}
	return len(names)
}

func TestEveryCallGivesAsManyValuesAsItsTextHasPlaceholders(t *testing.T) {
	files := parseFiles(t, "gateway", "channels", "terminal", "cmd", "internal")
	keys, functions := keyNames(t), textFunctions(files)
	checked := 0
	for _, f := range files {
		ast.Inspect(f.tree, func(n ast.Node) bool {
			call, ok := n.(*ast.CallExpr)
			if !ok || call.Ellipsis.IsValid() {
				return true
			}
			name := exprName(call.Fun)
			if at, ok := call.Fun.(*ast.SelectorExpr); ok {
				name = at.Sel.Name
			}
			for _, index := range functions[name] {
				if index >= len(call.Args) {
					continue
				}
				key, ok := keys[strings.TrimPrefix(exprName(call.Args[index]), "words.")]
				if !ok { // the key is a variable, or this is another function of the name
					continue
				}
				checked++
				if got, want := len(call.Args)-index-1, countPlaceholders(key); got != want {
					t.Errorf("%s: %s has %d placeholders and gets %d values", f.set.Position(call.Pos()), key, want, got)
				}
			}
			return true
		})
	}
	if checked < 200 {
		t.Errorf("only %d calls were found", checked)
	}
}

func TestEveryTextOfTheCatalogueIsUsed(t *testing.T) {
	unused := keyNames(t)
	for _, f := range parseFiles(t, "gateway", "channels", "terminal", "cmd", "internal") {
		own := strings.HasPrefix(f.path, "internal/words/")
		ast.Inspect(f.tree, func(n ast.Node) bool {
			if at, ok := n.(*ast.SelectorExpr); ok && !own && exprName(at.X) == "words" {
				delete(unused, at.Sel.Name)
			}
			return true
		})
	}
	for name, key := range unused {
		if !strings.HasPrefix(string(key), "page") { // the page gets all of these
			t.Errorf("no part of the program uses %s (%s)", key, name)
		}
	}
}
