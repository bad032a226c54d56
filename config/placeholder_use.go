package config

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// classifyUse returns how a simple command uses the placeholder in words[i], or why it must not be
// used there.
func classifyUse(words []word, i int) (textUse, error) {
	words, i, err := unwrap(words, i)
	if err != nil {
		return textUse{}, err
	}
	if err := evaluates(words, i); err != nil {
		return textUse{}, err
	}
	return classifyArgument(program(words[0]), words, i)
}

// unwrap goes to the program that is run in the end: of "nohup timeout 5 grep" that is grep.
func unwrap(words []word, i int) ([]word, int, error) {
	for {
		if i == 0 {
			return nil, 0, fmt.Errorf("%s would choose the program that is run", Placeholder)
		}
		if !words[0].named {
			return nil, 0, fmt.Errorf("%s needs a program whose name is written out in the command", Placeholder)
		}
		w, ok := wrappers[program(words[0])]
		if !ok {
			return words, i, nil
		}
		start, err := w.inner(words, i)
		if err != nil {
			return nil, 0, fmt.Errorf("%s %w of %s", Placeholder, err, program(words[0]))
		}
		words, i = words[start:], i-start
	}
}

// evaluates fails if the program evaluates words[i].
func evaluates(words []word, i int) error {
	name := program(words[0])
	if why, ok := findProgram(evaluators, name); ok {
		return fmt.Errorf("%s is code to %s, which %s", Placeholder, name, why)
	}
	in, ok := findProgram(interpreters, name)
	if ok && in.evaluates(words, i) {
		return fmt.Errorf("%s is code to %s", Placeholder, name)
	}
	if nested := runsNested(words, i); !ok && nested != "" {
		return fmt.Errorf("%s is code to %s", Placeholder, nested)
	}
	if special, ok := findProgram(specials, name); ok && special(words, i) {
		return fmt.Errorf("%s is code to %s there", Placeholder, name)
	}
	return nil
}

// runsNested names a shell or an interpreter among the arguments in front of the placeholder that
// would evaluate it, as in "lxc-attach box -- sh -c {message}"; "": there is none.
func runsNested(words []word, i int) string {
	for at := 1; at < i; at++ {
		name := program(words[at])
		if in, ok := findProgram(interpreters, name); ok && words[at].named && in.evaluates(words[at:], i-at) {
			return name
		}
	}
	return ""
}

var (
	longValue = regexp.MustCompile(`^--[A-Za-z0-9][A-Za-z0-9_-]*=$`)
	// codeOption are long options whose values are commands, programs or code in the tools that
	// have them.
	codeOption = regexp.MustCompile(`^--(.*-)?(eval|exec|execute|command|cmd|code|shell|rsh|pager|askpass|program|preview|script|run)=?$|` +
		`^--(exec-path|checkpoint-action|split-string|rcfile|init-file|upload-pack|receive-pack|hostname-bin|pre|ex|rmt-command|use-askpass|info-script|new-volume-script|post-renderer|python-expr|actions)=?$`)
)

// passers hand over what stands behind their -- to another program, which may take it for an option
// all the same.
var passers = strings.Fields("cargo go uv poetry pdm hatch bundle dotnet mvn gradle nix deno")

// classifyArgument is classifyUse for a program that evaluates nothing that is known.
func classifyArgument(name string, words []word, i int) (textUse, error) {
	w, before := words[i], words[1:i]
	p := textUse{program: name}
	operand := slices.ContainsFunc(before, func(w word) bool { return w.known && w.text == "--" })
	switch {
	case codeOption.MatchString(w.before) && !operand:
		return p, fmt.Errorf("%s is code to %s behind %s", Placeholder, name, w.before)
	case len(before) > 0 && codeOption.MatchString(words[i-1].text) && !strings.HasSuffix(words[i-1].text, "=") && !operand:
		return p, fmt.Errorf("%s is code to %s behind %s", Placeholder, name, words[i-1].text)
	case w.whole && operand && !slices.Contains(passers, name):
		return p, nil
	case w.whole && behindPattern(name, before):
		return p, nil
	case longValue.MatchString(w.before) && w.ends:
		return p, nil
	case strings.HasPrefix(w.before, "-") && !strings.Contains(w.before, "=") && !operand:
		return p, fmt.Errorf("%s would become part of the option %s of %s", Placeholder, w.before, name)
	case w.before == "" && !w.leads:
		return p, fmt.Errorf("%s behind a variable may become an option of %s", Placeholder, name)
	}
	p.warned, p.guarded = true, w.before == ""
	return p, nil
}

// patternOption is -e, also behind other options of grep that take no value.
var patternOption = regexp.MustCompile(`^-[abcEFGHhiILlnoPqRrsUvwxyZz]*e$`)

// behindPattern reports whether the next word is the value of grep's -e.
func behindPattern(name string, before []word) bool {
	if len(before) > 0 && name == "git" && before[0].known && before[0].text == "grep" {
		name, before = "rg", before[1:]
	}
	if len(before) == 0 || !before[len(before)-1].known {
		return false
	}
	switch last := before[len(before)-1].text; name {
	case "grep", "egrep", "fgrep":
		return patternOption.MatchString(last)
	case "rg":
		return last == "-e"
	}
	return false
}

var (
	errOption = errors.New("must not stand among the options")
	errCode   = errors.New("is code behind an option")
)

// wrapper is a program that runs another one, which its arguments name.
type wrapper struct {
	values   string // short options that take a value, which may be the next word
	long     string // long ones
	operands int    // words in front of the program's name
	code     string // short options behind which everything is code
	assigns  bool   // NAME=value may stand in front of the program's name
}

// inner is where the name of the program stands that is run, at most at words[i]. It fails if the
// placeholder, which stands there, is in front of that.
func (w wrapper) inner(words []word, i int) (int, error) {
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
	if at > i || i < len(words) && words[i].before != "" || operands > 0 {
		return 0, errOption
	}
	return at, nil
}

// interpreter is a program that runs a script, which its arguments name, or code in an option.
type interpreter struct {
	code, values string // short options whose value is code, and others that take one
	attached     string // short options whose value is never the next word
	long         string // long options whose value is code
	module       string // short options that name what is run, as a script does
	always       bool   // where there is code in an option, it may evaluate what stands behind it, too
	script       bool   // a script is named even if there is code in an option
	opens        string // short options that make it open its arguments as a shell would
}

// evaluates reports whether the word stands where code or the name of a script is expected.
func (in interpreter) evaluates(words []word, i int) bool {
	code, rest := in.options(words)
	switch {
	case rest >= i && !code || rest > i:
		return true
	case code:
		return in.always || in.script && rest >= i
	}
	return false
}

// options reads the options. It says whether there is code among them, and where the script's name
// stands, or what stands behind the code.
func (in interpreter) options(words []word) (code bool, rest int) {
	at := 1
	for ; at < len(words); at++ {
		text := words[at].text
		switch {
		case text == "--":
			return code, at + 1
		case len(words[at].marks) > 0 && words[at].before == "" || len(text) < 2 || text[0] != '-' && text[0] != '+':
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
			isCode, isModule, next := in.cluster(text[1:])
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

// cluster reads short options that stand together.
func (in interpreter) cluster(letters string) (code, module, next bool) {
	for n, letter := range letters {
		last := n == len(letters)-1
		switch {
		case strings.ContainsRune(in.opens, letter):
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
