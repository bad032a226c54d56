package main

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// namingFiles may name a channel or a protocol: the list itself, and what is about the web page or
// the built-in agents, and nothing else.
var namingFiles = []string{
	"cmd/nanobot/wire.go",
	"cmd/nanobot/link.go", "cmd/nanobot/web.go", "cmd/nanobot/dev.go", "cmd/nanobot/dev/", "cmd/nanobot/access/link.go", "cmd/nanobot/state/", "cmd/nanobot/backup/",
	"cmd/nanobot/forget.go", "cmd/nanobot/personal/", // the web's users and conversations
	"cmd/nanobot/chat.go", "cmd/nanobot/starter/", // agents that speak rich
	"cmd/nanobot-sim/",        // serves channels to other bots
	"cmd/nanobot/run.go",      // prints to the local terminal
	"cmd/nanobot/checkagent/", // its cases are the rules of protocols
}

// emulator has the name of a protocol and is not its folder: it knows nothing of protocols.
const emulator = "nanobot/terminal/screen"

// TestNoOtherPackageNamesAChannelOrAProtocol keeps what is known of a channel or a protocol in its
// folder: no string is its name or its section, and nothing else imports its package.
func TestNoOtherPackageNamesAChannelOrAProtocol(t *testing.T) {
	t.Parallel()
	var names []string
	for _, n := range networks {
		names = append(names, n.Name)
	}
	for _, p := range protocols {
		names = append(names, p.Name)
	}
	either := strings.Join(names, "|")
	text := regexp.MustCompile(`^(` + either + `)$|\b(channels|terminal)\.(` + either + `)\b|"(` + either + `)"`)
	path := regexp.MustCompile(`^nanobot/(channels|terminal)/(` + either + `)(/|$)`)
	seen := 0
	for _, file := range ownSources(t) {
		seen++
		parsed := musttest.Get(parser.ParseFile(token.NewFileSet(), filepath.Join("..", "..", file), nil, 0))(t)
		imports := map[*ast.BasicLit]bool{}
		for _, i := range parsed.Imports {
			imports[i.Path] = true
			if p, _ := strconv.Unquote(i.Path.Value); path.MatchString(p) && p != emulator {
				t.Errorf("%s imports %s", file, p)
			}
		}
		ast.Inspect(parsed, func(n ast.Node) bool {
			switch n := n.(type) {
			case *ast.BasicLit:
				s, _ := strconv.Unquote(n.Value)
				if n.Kind == token.STRING && !imports[n] && text.MatchString(s) {
					t.Errorf("%s says %s", file, n.Value)
				}
			case *ast.Ident:
				if strings.HasPrefix(file, "config/") && containsName(n.Name, names) {
					t.Errorf("%s has an identifier %s", file, n.Name)
				}
			}
			return true
		})
	}
	if seen < 100 {
		t.Fatalf("only %d files", seen)
	}
}

// containsName reports whether a word of an identifier in camel case is one of the names. Some of
// them are also English.
func containsName(identifier string, names []string) bool {
	words := regexp.MustCompile(`[A-Z]+[a-z]*|[a-z]+`).FindAllString(identifier, -1)
	for _, w := range words {
		for _, n := range names {
			if strings.EqualFold(w, n) && !slices.Contains([]string{"plain", "rich", "keys", "screen"}, n) {
				return true
			}
		}
	}
	return false
}

// ownSources are the Go files outside of the folders of channels and protocols, without tests.
func ownSources(t *testing.T) []string {
	t.Helper()
	var files []string
	root := filepath.Join("..", "..")
	for _, dir := range []string{"config", "cmd", "gateway", "internal", "channels", "terminal"} {
		musttest.Do(t, filepath.WalkDir(filepath.Join(root, dir), func(path string, e fs.DirEntry, err error) error {
			if err != nil {
				return err
			}
			file, err := filepath.Rel(root, path)
			file = filepath.ToSlash(file)
			below := strings.Count(file, "/") > 0 && (dir == "channels" || dir == "terminal")
			switch {
			case e.IsDir() && (e.Name() == "testdata" || below || strings.HasSuffix(e.Name(), "test")):
				return filepath.SkipDir
			case e.IsDir(), !strings.HasSuffix(file, ".go"), strings.HasSuffix(file, "_test.go"), allowedToName(file):
				return err
			}
			files = append(files, file)
			return err
		}))
	}
	return files
}

func allowedToName(file string) bool {
	for _, prefix := range namingFiles {
		if strings.HasPrefix(file, prefix) {
			return true
		}
	}
	return false
}
