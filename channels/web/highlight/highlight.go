// Package highlight marks the parts of source code with classes: k for keywords, s for strings, c
// for comments, n for numbers and constants, f for names of functions, tags and keys, i and d for
// inserted and deleted lines. It knows nothing of pages and their colours.
//
// The lexers that chroma brings are not used: they take 9 to 22 ms at each start of the program and
// 1 MiB of memory for good, also in a daemon without the page.
package highlight

import (
	"html"
	"slices"
	"strings"
	"sync"

	"github.com/alecthomas/chroma/v2"
)

// MaxCode is how many bytes of code are marked: a growing answer is rendered again and again.
const MaxCode = 16 << 10

// HTML returns code as HTML. Code in an unknown language, and longer code, is only escaped.
func HTML(language, code string) string {
	lexer := lexers()[strings.ToLower(language)]
	if lexer == nil || len(code) > MaxCode {
		return html.EscapeString(code)
	}
	tokens, err := lexer().Tokenise(&chroma.TokeniseOptions{State: "root"}, code)
	if err != nil {
		return html.EscapeString(code)
	}
	var out strings.Builder
	for t := tokens(); t != chroma.EOF; t = tokens() {
		text := html.EscapeString(t.Value)
		if class := classes[t.Type]; class != "" {
			text = `<span class="` + class + `">` + text + `</span>`
		}
		out.WriteString(text)
	}
	return out.String()
}

// The kinds of tokens, and their classes.
const (
	keyword  = chroma.Keyword
	str      = chroma.LiteralString
	comment  = chroma.Comment
	constant = chroma.LiteralNumber
	name     = chroma.NameFunction
	inserted = chroma.GenericInserted
	deleted  = chroma.GenericDeleted
	other    = chroma.Text
)

var classes = map[chroma.TokenType]string{
	keyword: "k", str: "s", comment: "c", constant: "n", name: "f", inserted: "i", deleted: "d",
}

// lexers are functions that make the lexer of a language at its first use, by the language's names.
var lexers = sync.OnceValue(func() map[string]func() chroma.Lexer {
	all := map[string]func() chroma.Lexer{}
	for _, l := range languages {
		lexer := sync.OnceValue(l.lexer)
		for _, n := range strings.Fields(l.names) {
			all[n] = lexer
		}
	}
	return all
})

// language describes the tokens of a language.
type language struct {
	names    string // in fences
	first    []chroma.Rule
	comment  string // what starts a comment that ends with its line, as a regular expression
	block    bool   // there are comments /* like this */
	quotes   string // what encloses strings that end at the latest with their line
	raw      string // what encloses strings of several lines
	keywords string
	any      bool // keywords may be written in capitals
}

// constants are the same in most languages.
const constants = "true false null nil None True False undefined nullptr NULL TRUE FALSE"

// lexer makes the lexer. No rule has nested repetitions, so the time is proportional to the code.
// What code has most often comes first.
func (l language) lexer() chroma.Lexer {
	rules := slices.Clone(l.first)
	add := func(pattern string, kind chroma.Emitter) {
		rules = append(rules, chroma.Rule{Pattern: pattern, Type: kind})
	}
	add(`[ \t\n,;(){}]+`, other)
	add(`([.$-]?[A-Za-z_]\w*(?:-\w+)*)(\(?)`, l.words())
	for _, q := range strings.Fields(l.raw) {
		add(q+`[\s\S]*?(?:`+q+`|\z)`, str)
	}
	for _, q := range strings.Fields(l.quotes) {
		add(q+`(?:\\.|[^`+q+`\\\n])*`+q+`?`, str)
	}
	if l.comment != "" {
		add("(?:"+l.comment+`).*`, comment)
	}
	if l.block {
		add(`/\*[\s\S]*?(?:\*/|\z)`, comment)
	}
	add(`0[xXbBoO][\da-fA-F_]+|\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\w*`, constant)
	add(`\W`, other)
	add(`[\s\S]`, other)
	return chroma.MustNewLexer(&chroma.Config{Name: l.names}, func() chroma.Rules { return chroma.Rules{"root": rules} })
}

// words returns the emitter of a word and the bracket behind it, if there is one.
func (l language) words() chroma.Emitter {
	kinds := map[string]chroma.TokenType{}
	for _, w := range strings.Fields(l.keywords) {
		kinds[w] = keyword
		if l.any {
			kinds[strings.ToUpper(w)] = keyword
		}
	}
	for _, w := range strings.Fields(constants) {
		kinds[w] = constant
	}
	return chroma.EmitterFunc(func(groups []string, _ *chroma.LexerState) chroma.Iterator {
		kind, known := kinds[groups[1]]
		switch {
		case known:
		case groups[2] != "" && !strings.HasPrefix(groups[1], "$"):
			kind = name
		default:
			kind = other
		}
		return chroma.Literator(chroma.Token{Type: kind, Value: groups[1]}, chroma.Token{Type: other, Value: groups[2]})
	})
}
