package runbook

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/yuin/goldmark/ast"

	"nanobot/config"
	"nanobot/internal/lazyregexp"
)

// mentionsChallenge matches the key of a challenge as JSON or, at the start of a line, as YAML.
var mentionsChallenge = lazyregexp.New(`"challenge"|(?m)^[ \t]*challenge[ \t]*:`)

// warnIgnoredBlocks warns about code blocks that mention a challenge but are not the step's
// challenge, because nobody would be asked for that proof.
func (r *textReader) warnIgnoredBlocks(nodes []ast.Node, challenge ast.Node, step string) {
	walkCode(nodes, func(n ast.Node) {
		text := n.Lines().Value(r.bytes)
		if n == challenge || n.Kind() == ast.KindHTMLBlock || !mentionsChallenge().Match(text) {
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
		if !bytes.Contains(text, []byte(`"challenge"`)) {
			return errYAML
		}
		return errOtherLanguage
	}
	if _, err := extractChallenge(text); err != nil {
		return err
	}
	return errNotLast
}

// fieldKeys are the keys in the field of each type of challenge.
var fieldKeys = map[string][]string{
	Shell: {"cmd", "timeout_seconds"}, MCP: {"tool_name", "expected_result"}, UserInput: {"prompt", "approvals"},
	Comment: {"min_length"},
}

// maxKeyWarnings limits the warnings about one challenge: an agent gets them with each result.
const maxKeyWarnings = 5

// unknownKeys returns a warning for each key of a definition that is ignored.
func unknownKeys(definition json.RawMessage, kind string) (all []string) {
	keys, known := fieldKeys[kind]
	if !known {
		return nil // an error already
	}
	outer := readObject(definition)
	warn := func(prefix, key string, candidates []string) {
		if slices.Contains(candidates, key) || len(all) == maxKeyWarnings {
			return
		}
		text := fmt.Sprintf("the %s challenge has no key `%s`, so that is ignored.", kind, prefix+key)
		if near := config.ClosestMatch(key, candidates); near != "" {
			text += fmt.Sprintf(" Did you mean `%s`?", prefix+near)
		} else if near := config.ClosestMatch(key, keys); near != "" {
			text += fmt.Sprintf(" Did you mean `%s`?", kind+"."+near)
		} else {
			text += fmt.Sprintf(" There are `%s`.", prefix+strings.Join(candidates, "`, `"+prefix))
		}
		all = append(all, text)
	}
	for _, key := range slices.Sorted(maps.Keys(outer)) {
		warn("", key, []string{"type", "required", kind})
	}
	for _, key := range slices.Sorted(maps.Keys(readObject(outer[kind]))) {
		warn(kind+".", key, keys)
	}
	return all
}
