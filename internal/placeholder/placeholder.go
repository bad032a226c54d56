// Package placeholder puts the text of a message into a shell command in place of {message}. Parse
// refuses a command that would evaluate the text as code. It does not run commands.
package placeholder

import (
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"mvdan.cc/sh/v3/syntax"
)

// Message is replaced in a command by the text of a message, quoted as one word for a POSIX shell.
const Message = "{message}"

// safeAlternative ends every mistake about a placeholder: the ways to pass the text without one.
const safeAlternative = `let the program read the text from its standard input or from "$NANOBOT_TEXT" instead`

// shellVariants maps the supported shells to their grammars. In all of them a string in single
// quotes ends at the next single quote and has no other special characters.
var shellVariants = map[string]syntax.LangVariant{
	"sh": syntax.LangPOSIX, "dash": syntax.LangPOSIX, "ash": syntax.LangPOSIX, "busybox": syntax.LangPOSIX,
	"bash": syntax.LangBash, "ksh": syntax.LangMirBSDKorn, "mksh": syntax.LangMirBSDKorn, "zsh": syntax.LangZsh,
}

// Command is a shell command with placeholders for the text of a message.
type Command struct {
	shell    string
	segments []string // the command, split at the placeholders
	uses     []placeholderUse
}

// placeholderUse describes how a command uses one placeholder.
type placeholderUse struct {
	program     string // the program that receives the text as an argument
	mayBeOption bool   // the program may mistake the text for an option
	guardDash   bool   // the text starts the argument, so Expand puts a space before a leading dash
}

// Parse finds the placeholders of a command. It returns an error if the quoted text would not stay
// one word, or if the shell or a program would evaluate the text as code.
func Parse(shell, command string) (Command, error) {
	c := Command{shell: shell, segments: strings.Split(command, Message)}
	if len(c.segments) == 1 {
		return c, nil
	}
	variant, known := shellVariants[filepath.Base(shell)]
	if !known {
		return c, fmt.Errorf("%s cannot be used with the shell %s; use sh, bash, ksh or zsh, or %s", Message, shell,
			safeAlternative)
	}
	withMarkers, markerPrefix := insertMarkers(c.segments)
	file, err := syntax.NewParser(syntax.Variant(variant)).Parse(strings.NewReader(withMarkers), "")
	if err != nil {
		return c, errors.New("is not a valid shell command, so " + Message + " cannot be used safely")
	}
	r := commandAnalyzer{
		markerPrefix: markerPrefix, uses: make([]*placeholderUse, len(c.segments)-1),
		functions: map[string]bool{},
	}
	if err := r.analyze(file); err != nil {
		return c, fmt.Errorf("%w; %s", err, safeAlternative)
	}
	for _, p := range r.uses {
		if p == nil {
			return c,
				errors.New(Message +
					" must be outside of quotes, backquotes, arithmetic, tests, eval, assignments, redirections, comments and " +
					"here-documents, because nanobot quotes the text itself; or " + safeAlternative)
		}
		c.uses = append(c.uses, *p)
	}
	return c, nil
}

// EndsWords reports whether a placeholder only stands at the ends of words outside of quotes, so
// that a quoted word can replace it.
func EndsWords(shell, command, placeholder string) bool {
	segments := strings.Split(command, placeholder)
	withMarkers, prefix := insertMarkers(segments)
	parser := syntax.NewParser(syntax.Variant(shellVariants[filepath.Base(shell)]))
	file, err := parser.Parse(strings.NewReader(withMarkers), "")
	if err != nil {
		return false
	}
	found := 1
	syntax.Walk(file, func(node syntax.Node) bool {
		if w, ok := node.(*syntax.Word); ok {
			last, _ := w.Parts[len(w.Parts)-1].(*syntax.Lit)
			if last != nil && endsWithMarker(last.Value, prefix) {
				found++
			}
		}
		_, expansion := node.(*syntax.ParamExp) // may be in quotes
		return !expansion
	})
	return found == len(segments)
}

// endsWithMarker reports whether an unquoted part of a word has one marker, at its end.
func endsWithMarker(text, prefix string) bool {
	before, number, found := strings.Cut(text, prefix)
	return found && len(number) == markerDigits && !strings.HasSuffix(before, "\\")
}

// insertMarkers joins the segments with a plain word for each placeholder, because the shell parser
// gives { a meaning of its own. Markers end in a number of fixed length, so that no marker contains
// another.
func insertMarkers(segments []string) (withMarkers, prefix string) {
	prefix = "nanobotmessage"
	for strings.Contains(strings.Join(segments, ""), prefix) {
		prefix += "x"
	}
	var b strings.Builder
	for i, segment := range segments {
		if i > 0 {
			fmt.Fprintf(&b, "%s%06d", prefix, i-1)
		}
		b.WriteString(segment)
	}
	return b.String(), prefix
}

// Warnings returns a warning for each program that may mistake the text for an option.
func (c Command) Warnings() []string {
	var all []string
	seen := map[string]bool{}
	for _, p := range c.uses {
		if !p.mayBeOption || seen[p.program] {
			continue
		}
		seen[p.program] = true
		all = append(all,
			fmt.Sprintf(`%[2]s may take %[1]s for an option, so a text that begins with "-" is passed with a space in front: write -- %[1]s, `+
				`--name=%[1]s or, for grep, -e %[1]s, or %[3]s`, Message, p.program, safeAlternative))
	}
	return all
}

// HasPlaceholder reports whether the command contains a placeholder.
func (c Command) HasPlaceholder() bool { return len(c.uses) > 0 }

// InputEvaluator returns the name of the first program of the command if it executes its standard
// input, or "". It needs no placeholder, and also works for a command that Parse refuses.
func (c Command) InputEvaluator() string {
	if words, _ := c.firstProgram(); words != nil {
		return inputEvaluator(words)
	}
	return ""
}

// PromptReader returns the name of the first program of the command if it is a tool that takes its
// standard input for a prompt to a model, or "". Like InputEvaluator it needs no placeholder.
func (c Command) PromptReader() string {
	words, redirected := c.firstProgram()
	if words == nil || redirected {
		return ""
	}
	words, _, err := skipWrappers(words, len(words))
	if err != nil || len(words) == 0 {
		return ""
	}
	name := programName(words[0])
	subcommand, known := promptReaders[name]
	if !known || subcommand != "" && !followsAny(subcommand)(words, len(words)) {
		return ""
	}
	return name
}

var inputRedirections = []syntax.RedirOperator{syntax.RdrIn, syntax.Hdoc, syntax.DashHdoc, syntax.WordHdoc}

// firstProgram returns the words of the first program besides cd, which reads the input of the
// command unless that is redirected, or nil.
func (c Command) firstProgram() (words []commandWord, redirected bool) {
	command := strings.NewReader(strings.Join(c.segments, Message))
	file, err := syntax.NewParser(syntax.Variant(shellVariants[filepath.Base(c.shell)])).Parse(command, "")
	if err != nil {
		return nil, false
	}
	r := commandAnalyzer{markerPrefix: "\x00"}
	syntax.Walk(file, func(node syntax.Node) bool {
		if words != nil {
			return false
		}
		switch n := node.(type) {
		case *syntax.Stmt:
			redirected = slices.ContainsFunc(n.Redirs, func(r *syntax.Redirect) bool {
				return r.N == nil && slices.Contains(inputRedirections, r.Op)
			})
		case *syntax.CallExpr:
			if len(n.Args) > 0 && n.Args[0].Lit() != "cd" {
				words = r.parseWords(n.Args)
			}
		}
		return words == nil
	})
	return words, redirected
}

// Expand replaces each placeholder by the quoted text. The text itself is not searched for
// placeholders.
func (c Command) Expand(text string, quote func(string) string) string {
	// an argument cannot contain NUL, and a leading NUL must not disguise a dash
	text = strings.ReplaceAll(text, "\x00", "")
	var b strings.Builder
	for i, segment := range c.segments {
		if i > 0 {
			word := text
			if c.uses[i-1].guardDash && strings.HasPrefix(text, "-") {
				word = " " + text
			}
			b.WriteString(quote(word))
		}
		b.WriteString(segment)
	}
	return b.String()
}
