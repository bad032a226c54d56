package markdown

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"nanobot/internal/wanttest"
)

// recorder writes down what it is told; texts in a row are one.
type recorder struct{ strings.Builder }

func (r *recorder) Begin(e Element)     { fmt.Fprintf(r, "\n%+v", e) }
func (r *recorder) End(e Element)       { fmt.Fprintf(r, "\nend %d", e.Kind) }
func (r *recorder) Text(s string)       { r.WriteString(s) }
func (r *recorder) Break(indent string) { fmt.Fprintf(r, "\nbreak %q", indent) }
func (r *recorder) Table(Table)         { r.WriteString("\ntable") }

func TestTextWithoutMarkupIsReadAsTheParserReadsIt(t *testing.T) {
	pieces := strings.Split("a|B|ä|中|word|Answer|1|42|1.|1)|,|;|.|!|?|'|\"|(|)|/|%|:| |  |\n|\n\n|-|--|=|===|*|_|~~|`|<b>|&amp;|[|](|\\|#|> |+|"+
		"www.|WWW.a.b|http://|https://a.b|ftp://|mailto:|a@b.c|@|$|://|\t|\u00a0|\u2028|\r|e\u0301|🙂|"+string([]byte{0xff}), "|")
	pieces = append(pieces, "|", "a | b\n- | -")
	random := rand.New(rand.NewPCG(1, 2))
	unmarked := 0
	for range 60_000 {
		var source string
		for range 1 + random.IntN(7) {
			i := random.IntN(len(pieces))
			if random.IntN(3) > 0 { // more often what needs no parser
				i = random.IntN(24)
			}
			source += pieces[i]
		}
		if !isUnmarked(source) {
			continue
		}
		unmarked++
		var got, want recorder
		walkUnmarked(source, &got)
		parseAndWalk(source, &want)
		if got.String() != want.String() {
			wanttest.Equal(t, fmt.Sprintf("%q", source), got.String(), want.String())
			return
		}
	}
	if unmarked < 3_000 {
		t.Errorf("only %d texts have no markup", unmarked)
	}
}
