package runbook

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
)

// warnIgnored warns of code blocks that mention a challenge, except the one that is the challenge:
// nobody would be asked for a proof.
func (r *textReader) warnIgnored(nodes []ast.Node, challenge ast.Node, step string) {
	eachCode(nodes, func(n ast.Node) {
		text := n.Lines().Value(r.bytes)
		if n == challenge || n.Kind() == ast.KindHTMLBlock || !bytes.Contains(text, []byte(`"challenge"`)) {
			return
		}
		r.warn(r.lineAt(n.Pos()), step, fmt.Sprintf(
			`The block mentions "challenge" but stays text, so nobody is asked for a proof: %v.`, r.whyIgnored(n, text)))
	})
}

// whyIgnored returns why a code block is no challenge.
func (r *textReader) whyIgnored(n ast.Node, text []byte) error {
	block, fenced := n.(*ast.FencedCodeBlock)
	if !fenced {
		return errIndented
	}
	if !r.isJSON(block) {
		return errOtherLanguage
	}
	if _, err := extractChallenge(text); err != nil {
		return err
	}
	return errNotLast
}
