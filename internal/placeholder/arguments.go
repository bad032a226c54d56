package placeholder

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"nanobot/internal/lazyregexp"
)

// classifyUse returns how a simple command uses the placeholder in words[i], or an error if that
// use is unsafe.
func classifyUse(words []commandWord, i int) (placeholderUse, error) {
	words, i, err := skipWrappers(words, i)
	if err != nil {
		return placeholderUse{}, err
	}
	if err := refuseEvaluation(words, i); err != nil {
		return placeholderUse{}, err
	}
	return classifyArgument(programName(words[0]), words, i)
}

// skipWrappers removes programs that run another program: "nohup timeout 5 grep" becomes "grep".
func skipWrappers(words []commandWord, i int) ([]commandWord, int, error) {
	for {
		if i == 0 {
			return nil, 0, fmt.Errorf("%s would let users choose the program to run", Message)
		}
		if !words[0].nameKnown {
			return nil, 0, fmt.Errorf("%s can only be passed to a program whose name is written out in the command", Message)
		}
		w, ok := wrappers()[programName(words[0])]
		if !ok {
			return words, i, nil
		}
		start, err := w.findProgram(words, i)
		if err != nil {
			return nil, 0, fmt.Errorf("%s %w of %s", Message, err, programName(words[0]))
		}
		words, i = words[start:], i-start
	}
}

// refuseEvaluation returns an error if the program evaluates words[i] as code.
func refuseEvaluation(words []commandWord, i int) error {
	name := programName(words[0])
	if why, ok := lookupProgram(evaluators(), name); ok {
		return fmt.Errorf("%s would evaluate %s as code, because it %s", name, Message, why)
	}
	in, ok := lookupProgram(interpreters(), name)
	if ok && in.evaluates(words, i) {
		return fmt.Errorf("%s would evaluate %s as code", name, Message)
	}
	if nested := nestedInterpreter(words, i); !ok && nested != "" {
		return fmt.Errorf("%s would evaluate %s as code", nested, Message)
	}
	options, _ := lookupProgram(codeOptions(), name)
	if special, ok := lookupProgram(partialEvaluators, name); ok && special(words, i) || hasCodeOption(options, words, i) {
		return fmt.Errorf("%s would evaluate %s as code here", name, Message)
	}
	return nil
}

// nestedInterpreter returns the name of a shell or an interpreter among the arguments that would
// evaluate words[i], as in "lxc-attach box -- sh -c {message}", or "".
func nestedInterpreter(words []commandWord, i int) string {
	for at := 1; at < i; at++ {
		name := programName(words[at])
		if in, ok := lookupProgram(interpreters(), name); ok && words[at].nameKnown && in.evaluates(words[at:], i-at) {
			return name
		}
	}
	return ""
}

var (
	longOptionPattern = lazyregexp.New(`^--[A-Za-z0-9][A-Za-z0-9_-]*=$`)
	// codeOptionPattern matches long options whose value is a command, a program or code.
	codeOptionPattern = lazyregexp.New(`^--(.*-)?(eval|exec|execute|command|cmd|code|shell|rsh|pager|askpass|program|preview|script|run)(=.*)?$|` +
		`^--(exec-path|checkpoint-action|split-string|rcfile|init-file|upload-pack|receive-pack|hostname-bin|pre|ex|rmt-command|use-askpass|info-script|new-volume-script|post-renderer|python-expr|actions)(=.*)?$`)
)

// argumentForwarders pass the arguments after -- to another program, which may still take them for
// options.
var argumentForwarders = strings.Fields("cargo go uv poetry pdm hatch bundle dotnet mvn gradle nix deno")

// classifyArgument classifies an argument of a program that is not known to evaluate its arguments.
func classifyArgument(name string, words []commandWord, i int) (placeholderUse, error) {
	w, before := words[i], words[1:i]
	p := placeholderUse{program: name}
	operand := slices.ContainsFunc(before, func(w commandWord) bool { return w.complete && w.text == "--" })
	switch {
	case codeOptionPattern().MatchString(w.textBefore) && !operand:
		return p, fmt.Errorf("%s would evaluate %s as code after %s", name, Message, w.textBefore)
	case len(before) > 0 && codeOptionPattern().MatchString(words[i-1].text) && !strings.Contains(words[i-1].text, "=") &&
		!operand:
		return p, fmt.Errorf("%s would evaluate %s as code after %s", name, Message, words[i-1].text)
	case w.onlyPlaceholder && operand && !slices.Contains(argumentForwarders, name):
		return p, nil
	case w.onlyPlaceholder && isGrepPattern(name, before):
		return p, nil
	case longOptionPattern().MatchString(w.textBefore) && w.endsWithPlaceholder:
		return p, nil
	case strings.HasPrefix(w.textBefore, "-") && !strings.Contains(w.textBefore, "=") && !operand:
		return p, fmt.Errorf("%s would become part of the option %s of %s", Message, w.textBefore, name)
	case w.textBefore == "" && !w.startsWithPlaceholder:
		return p, fmt.Errorf("%s after a variable may become an option of %s", Message, name)
	}
	p.mayBeOption, p.guardDash = true, w.textBefore == ""
	return p, nil
}

// grepPatternOption matches -e, and -e after other short options of grep that take no value.
var grepPatternOption = lazyregexp.New(`^-[abcEFGHhiILlnoPqRrsUvwxyZz]*e$`)

// isGrepPattern reports whether the word after these arguments is the value of grep's -e.
func isGrepPattern(name string, before []commandWord) bool {
	if len(before) > 0 && name == "git" && before[0].complete && before[0].text == "grep" {
		name, before = "rg", before[1:]
	}
	if len(before) == 0 || !before[len(before)-1].complete {
		return false
	}
	switch last := before[len(before)-1].text; name {
	case "grep", "egrep", "fgrep":
		return grepPatternOption().MatchString(last)
	case "rg":
		return last == "-e"
	}
	return false
}

var (
	errOption = errors.New("must not be among the options")
	errCode   = errors.New("would be evaluated as code after an option")
)

// wrapper describes a program that runs another program, which its arguments name.
type wrapper struct {
	values   string // short options with a value, which may be the next word
	long     string // long options whose value is the next word
	operands int    // number of arguments before the program's name
	code     string // short options after which everything is code
	assigns  bool   // arguments such as NAME=value may precede the program's name
}

// findProgram returns the index of the name of the program that the wrapper runs, at most i. It
// returns an error if words[i], the placeholder, precedes that name.
func (w wrapper) findProgram(words []commandWord, i int) (int, error) {
	at, operands := 1, w.operands
	for at < i {
		text := words[at].text
		switch {
		case text == "--":
			if at += 1 + operands; at > i {
				return 0, errOption
			}
			return at, nil
		case strings.HasPrefix(text, "--"):
			if strings.Contains(" "+w.long+" ", " "+text+" ") {
				at++
			}
		case strings.HasPrefix(text, "-") && len(text) > 1:
			if strings.ContainsAny(text[1:], w.code) {
				return 0, errCode
			}
			if n := strings.IndexAny(text[1:], w.values); n >= 0 && n == len(text)-2 {
				at++
			}
		case w.assigns && strings.Contains(text, "="):
		case operands > 0:
			operands--
		default:
			return at, nil
		}
		at++
	}
	if at > i || i < len(words) && words[i].textBefore != "" || operands > 0 {
		return 0, errOption
	}
	return at, nil
}

// interpreter describes a program that runs a script, or code in the value of an option.
type interpreter struct {
	code, values    string // short options whose value is code; other short options with a value
	attached        string // short options whose value is never the next word
	long            string // long options whose value is code
	module          string // short options whose value names a module or script
	evaluatesArgs   bool   // code in an option may evaluate the remaining arguments
	scriptAfterCode bool   // a script may follow even after code in an option
	unsafeFlags     string // short options without a value that make all arguments unsafe: perl -n, sh -s
}

// evaluates reports whether words[i] is at a position where code or the name of a script is
// expected.
func (in interpreter) evaluates(words []commandWord, i int) bool {
	code, rest := in.parseOptions(words)
	switch {
	case rest >= i && !code || rest > i:
		return true
	case code:
		return in.evaluatesArgs || in.scriptAfterCode && rest >= i
	}
	return false
}

// parseOptions parses the options. It returns whether an option contains code, and the index of the
// first argument after the options: the script's name, or the first argument of the code.
func (in interpreter) parseOptions(words []commandWord) (code bool, rest int) {
	at := 1
	for ; at < len(words); at++ {
		text := words[at].text
		switch {
		case text == "--":
			return code, at + 1
		case len(words[at].placeholders) > 0 && words[at].textBefore == "" || len(text) < 2 || text[0] != '-' &&
			text[0] != '+':
			return code, at
		case strings.HasPrefix(text, "--"):
			name, _, joined := strings.Cut(text, "=")
			if strings.Contains(" "+in.long+" ", " "+name+" ") {
				code = true
				if !joined {
					at++
				}
			}
		default:
			isCode, isModule, next := in.parseShortOptions(text[1:])
			code = code || isCode
			if next {
				at++
			}
			if isModule {
				return code, at
			}
		}
	}
	return code, at
}

// parseShortOptions parses a group of short options such as -uc. next means that the value of the
// last option is the next word.
func (in interpreter) parseShortOptions(letters string) (code, module, next bool) {
	for n, letter := range letters {
		last := n == len(letters)-1
		switch {
		case strings.ContainsRune(in.unsafeFlags, letter):
			code = true
		case strings.ContainsRune(in.code, letter):
			return true, false, last
		case strings.ContainsRune(in.module, letter):
			return code, true, last
		case strings.ContainsRune(in.values, letter):
			return code, false, last
		case strings.ContainsRune(in.attached, letter):
			return code, false, false
		}
	}
	return code, false, false
}
