package hooks

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"text/template"
	"text/template/parse"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
)

// Template makes the text of a message from a call. As in package html/template, each value that it
// inserts is escaped unless the pipeline ends in raw.
type Template struct{ root *template.Template }

// escapeFunction is a name that no template can use.
const escapeFunction = "_escape"

// templateName is in the errors of a template, before the line.
const templateName = "template"

// ParseTemplate parses a template. The error has the line of a mistake.
func ParseTemplate(text string) (*Template, error) {
	root, err := template.New(templateName).Funcs(functions(nil)).Parse(text)
	if err != nil {
		text := strings.TrimPrefix(err.Error(), "template: ")
		return nil, errors.New(strings.Replace(text, templateName+":", "line ", 1))
	}
	for _, t := range root.Templates() {
		if t.Tree != nil {
			escapeActions(t.Root)
		}
	}
	return &Template{root}, nil
}

// functions returns the functions of a template that is executed for a request.
func functions(r *http.Request) template.FuncMap {
	return template.FuncMap{
		"header": func(name string) string { return r.Header.Get(name) },
		"query":  func(name string) string { return r.URL.Query().Get(name) },
		"raw":    formatValue, escapeFunction: func(v any) string { return Escape(formatValue(v)) },
	}
}

// escapeActions makes escapeFunction the end of each pipeline below a node whose value is inserted.
func escapeActions(node parse.Node) {
	switch n := node.(type) {
	case *parse.ListNode:
		if n != nil {
			for _, child := range n.Nodes {
				escapeActions(child)
			}
		}
	case *parse.ActionNode:
		if len(n.Pipe.Decl) == 0 && !endsInRaw(n.Pipe) {
			escape := parse.NewIdentifier(escapeFunction).SetPos(n.Pos)
			n.Pipe.Cmds = append(n.Pipe.Cmds,
				&parse.CommandNode{NodeType: parse.NodeCommand, Pos: n.Pos, Args: []parse.Node{escape}})
		}
	case *parse.IfNode:
		escapeBranch(&n.BranchNode)
	case *parse.RangeNode:
		escapeBranch(&n.BranchNode)
	case *parse.WithNode:
		escapeBranch(&n.BranchNode)
	}
}

func escapeBranch(n *parse.BranchNode) {
	escapeActions(n.List)
	escapeActions(n.ElseList)
}

func endsInRaw(p *parse.PipeNode) bool {
	last := p.Cmds[len(p.Cmds)-1].Args[0]
	f, ok := last.(*parse.IdentifierNode)
	return ok && f.Ident == "raw"
}

// execute returns the text for a body, cut to a number of bytes.
func (t *Template) execute(r *http.Request, body []byte, limit int) (string, error) {
	root, err := t.root.Clone()
	if err != nil {
		return "", err
	}
	out := limitedBuffer{limit: limit}
	err = root.Funcs(functions(r)).Execute(&out, decodeBody(body))
	if errors.Is(err, errLimit) {
		return cutText(out.String(), limit), nil
	}
	return out.String(), err
}

// failedLine matches the line of a template in an error of its execution.
var failedLine = lazyregexp.New(`^template: [^:]*:(\d+):`)

// lineOf returns the line of a template at which its execution has failed, or "?".
func lineOf(err error) string {
	if m := failedLine().FindStringSubmatch(err.Error()); m != nil {
		return m[1]
	}
	return "?"
}

var errLimit = errors.New("the text is too long")

// limitedBuffer fails once it has limit bytes, which ends the execution of a template.
type limitedBuffer struct {
	bytes.Buffer
	limit int
}

// Write appends to the buffer.
func (b *limitedBuffer) Write(p []byte) (int, error) {
	n, _ := b.Buffer.Write(p[:min(len(p), max(0, b.limit+1-b.Len()))])
	if b.Len() > b.limit {
		return n, errLimit
	}
	return n, nil
}

// cutText shortens a text to a number of bytes, between two characters.
func cutText(text string, limit int) string {
	if len(text) <= limit {
		return text
	}
	for limit > 0 && !utf8.RuneStart(text[limit]) {
		limit--
	}
	return text[:limit] + "…"
}

// decodeBody returns the dot of a template: the value of a JSON body, or the body as a string.
func decodeBody(body []byte) any {
	d := json.NewDecoder(bytes.NewReader(body))
	d.UseNumber()
	var value any
	if d.Decode(&value) != nil || len(bytes.TrimSpace(body[d.InputOffset():])) > 0 {
		return strings.ToValidUTF8(string(body), string(utf8.RuneError))
	}
	return convertNumbers(value)
}

// convertNumbers replaces each json.Number by an int64, or by a float64 where it is none, so that
// templates can compare numbers and IDs keep all their digits.
func convertNumbers(value any) any {
	switch v := value.(type) {
	case json.Number:
		if i, err := v.Int64(); err == nil {
			return i
		}
		if f, err := v.Float64(); err == nil {
			return f
		}
		return v.String()
	case map[string]any:
		for key := range v {
			v[key] = convertNumbers(v[key])
		}
	case []any:
		for i := range v {
			v[i] = convertNumbers(v[i])
		}
	}
	return value
}

// formatValue formats a value of a body: nothing for null and missing keys, JSON for lists and
// objects.
func formatValue(value any) string {
	switch v := value.(type) {
	case nil:
		return ""
	case string:
		return v
	case float64:
		return strconv.FormatFloat(v, 'f', -1, 64)
	case map[string]any, []any:
		var b strings.Builder
		e := json.NewEncoder(&b)
		e.SetEscapeHTML(false)
		if err := e.Encode(v); err == nil {
			return strings.TrimSuffix(b.String(), "\n")
		}
	}
	return fmt.Sprint(value)
}
