package runbook

import (
	"bytes"
	"fmt"

	"github.com/yuin/goldmark/ast"
)

// warnIgnoredBlocks warns about code blocks that mention a challenge but are not the step's
// challenge, because nobody would be asked for that proof.
func (r *textReader) warnIgnoredBlocks(nodes []ast.Node, challenge ast.Node, step string) {
	walkCode(nodes, func(n ast.Node) {
		text := n.Lines().Value(r.bytes)
		if n == challenge || n.Kind() == ast.KindHTMLBlock || !bytes.Contains(text, []byte(`"challenge"`)) {
			return
		}
		r.addWarning(r.lineAt(n.Pos()), step, fmt.Sprintf(
			`The block mentions "challenge" but stays text, so nobody is asked for a proof: %v.`, r.whyIgnored(n, text)))
	})
}

// whyIgnored returns why a code block is not a challenge.
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
