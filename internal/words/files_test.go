package words

import (
	"bytes"
	"flag"
	"fmt"
	"go/format"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/tailscale/hujson"

	"nanobot/internal/musttest"
)

var update = flag.Bool("update", false, "write keys_gen.go")

// fileText is a text of a language file, as a JSON parser reads it.
type fileText struct {
	section, key, text string
	sectionComment     string // of the first text of a section
	comment            string // with the white space before it
}

// parseFile returns the texts of a language file in their order.
func parseFile(t *testing.T, l Language) (all []fileText) {
	t.Helper()
	source := musttest.Get(os.ReadFile(string(l) + ".jsonc"))(t)
	file := musttest.Get(hujson.Parse(source))(t)
	for _, s := range file.Value.(*hujson.Object).Members {
		comment := string(s.Name.BeforeExtra)
		for _, m := range s.Value.Value.(*hujson.Object).Members {
			name, text := m.Name.Value.(hujson.Literal), m.Value.Value.(hujson.Literal)
			all = append(all, fileText{s.Name.Value.(hujson.Literal).String(), name.String(), text.String(), comment, string(m.Name.BeforeExtra)})
			comment = ""
		}
	}
	return all
}

// generateKeys returns the source of keys_gen.go.
func generateKeys(t *testing.T, texts []fileText) []byte {
	t.Helper()
	var b bytes.Buffer
	b.WriteString("// Code generated from en.jsonc by go generate; DO NOT EDIT.\n\npackage words\n")
	end := ""
	for _, x := range texts {
		if x.sectionComment != "" {
			fmt.Fprintf(&b, "%s%sconst (", end, x.sectionComment)
			end = "\n)\n"
		}
		fmt.Fprintf(&b, "%s%s%s Key = %q", x.comment, strings.ToUpper(x.key[:1]), x.key[1:], x.key)
	}
	b.WriteString(end)
	source, err := format.Source(b.Bytes())
	if err != nil {
		t.Fatalf("%v\n%s", err, b.Bytes())
	}
	return source
}

func TestTheKeysAreGeneratedFromTheEnglishFile(t *testing.T) {
	const path = "keys_gen.go"
	want := generateKeys(t, parseFile(t, English))
	if *update {
		musttest.Do(t, os.WriteFile(path, want, 0o644))
	}
	if got, err := os.ReadFile(path); err != nil || !bytes.Equal(got, want) {
		t.Errorf("%s differs from en.jsonc (%v); write it with: go generate ./internal/words", path, err)
	}
}

func TestEveryLanguageFileHasTheNamesOfTheEnglishOne(t *testing.T) {
	names := func(l Language) (all []string) {
		for _, x := range parseFile(t, l) {
			all = append(all, x.section+"."+x.key)
		}
		return all
	}
	want := names(English)
	for _, l := range Languages() {
		got := names(l)
		for _, name := range want {
			if !slices.Contains(got, name) {
				t.Errorf("%s.jsonc lacks %s", l, name)
			}
		}
		for _, name := range got {
			if !slices.Contains(want, name) {
				t.Errorf("%s.jsonc has %s, which en.jsonc does not have", l, name)
			}
		}
		if !t.Failed() && !slices.Equal(got, want) {
			t.Errorf("%s.jsonc has another order than en.jsonc", l)
		}
	}
}

func TestTheTextsAreThoseThatAJSONParserReads(t *testing.T) {
	for _, l := range Languages() {
		for _, x := range parseFile(t, l) {
			if got := Template(Key(x.key), l); got != x.text {
				t.Errorf("%s.jsonc: %s is read as %q, want %q; each text needs a line of its own, with escapes that Go knows", l, x.key, got, x.text)
			}
		}
	}
}
