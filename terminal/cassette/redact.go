package cassette

import (
	"encoding/json"
	"html"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
)

// Redacted is what replaces a secret.
const Redacted = "[secret]"

// minSecret is the shortest secret that is replaced inside of words. Shorter values occur in words
// by chance. It is also the shortest part of a secret that is replaced where a text was cut.
const minSecret = 6

// Redactor replaces secrets in texts: known ones by their values, and others by the names in front
// of them. It is safe for concurrent use.
type Redactor struct {
	mu       sync.RWMutex
	values   map[string]bool
	long     []string // values of at least minSecret bytes, the longest first
	short    []string
	replacer *strings.Replacer     // of long
	escaped  func() *regexp.Regexp // of long, with backslashes before punctuation, as Markdown may need them
}

// NewRedactor returns a Redactor of these secrets, and of the values of the variables in environ,
// which are NAME=value, whose names are those of secrets. Variables with short values are ignored:
// a value such as "true" is no secret.
func NewRedactor(environ []string, secrets ...string) *Redactor {
	r := &Redactor{values: map[string]bool{}}
	for _, variable := range environ {
		name, value, _ := strings.Cut(variable, "=")
		var found []string
		if u, err := url.Parse(value); err == nil {
			if password, ok := u.User.Password(); ok {
				found = append(found, password)
			}
		}
		if isSecretName(name) {
			found = append(append(found, value), strings.Split(value, ",")...)
		}
		for _, value := range found {
			if len(value) >= minSecret {
				secrets = append(secrets, value)
			}
		}
	}
	r.Add(secrets...)
	return r
}

var (
	secretName = regexp.MustCompile(`TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|KEYS?(_|$)|(^|_)PASS(_|$)|[A-Z]_PWD$|` +
		`(^|_)(AUTH|COOKIE|JWT|PAT)$`)
	// countName matches the names of numbers and of switches, such as MAX_TOKENS.
	countName = regexp.MustCompile(`TOKENIZER|(MAX|MIN|NUM|COUNT|LIMIT|BUDGET).*TOKENS|TOKENS.*(MAX|MIN|NUM|COUNT|LIMIT|BUDGET)`)
)

// isSecretName reports whether a variable of this name has a secret.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return secretName.MatchString(name) && !countName.MatchString(name)
}

// scheme matches the beginning of the value of a header, before its secret.
var scheme = lazyregexp.New(`(?i)^(?:bearer|basic|token) +`)

// Add adds secrets, each line of a secret of several lines, and a header without its scheme. Those
// that are shorter than minSecret are replaced only as whole words.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				r.addForms(line)
			}
		}
		secret = strings.TrimSpace(secret)
		r.addForms(secret)
		r.addForms(scheme().ReplaceAllString(secret, ""))
	}
	r.long, r.short = nil, nil
	for value := range r.values {
		if len(value) >= minSecret {
			r.long = append(r.long, value)
		} else {
			r.short = append(r.short, value)
		}
	}
	longestFirst := func(a, b string) int { // a secret may contain another one
		if len(a) != len(b) {
			return len(b) - len(a)
		}
		return strings.Compare(a, b)
	}
	slices.SortFunc(r.long, longestFirst)
	slices.SortFunc(r.short, longestFirst)
	pairs := []string{Redacted, Redacted} // which a secret may be a part of
	for _, value := range r.long {
		pairs = append(pairs, value, Redacted)
	}
	r.replacer = strings.NewReplacer(pairs...)
	patterns := make([]string, len(r.long))
	for i, value := range r.long {
		patterns[i] = punctuation().ReplaceAllStringFunc(value, func(c string) string { return `\\*` + regexp.QuoteMeta(c) })
	}
	r.escaped = lazyregexp.New(strings.Join(patterns, "|"))
}

var punctuation = lazyregexp.New(`[!-/:-@[-` + "`" + `{-~]`)

// unescapeHTML undoes what only Go escapes in JSON.
var unescapeHTML = strings.NewReplacer(`\u003c`, "<", `\u003e`, ">", `\u0026`, "&")

// addForms adds a secret as it is, as JSON, as HTML and as a part of a URL.
func (r *Redactor) addForms(secret string) {
	if secret == "" || secret == Redacted {
		return
	}
	secret = strings.ToValidUTF8(secret, "\uFFFD") // as in the output of agents
	for _, form := range []string{secret, url.QueryEscape(secret), url.PathEscape(secret), html.EscapeString(secret)} {
		r.values[form] = true
	}
	if quoted, err := json.Marshal(secret); err == nil {
		inside := string(quoted[1 : len(quoted)-1])
		r.values[inside] = true
		r.values[unescapeHTML.Replace(inside)] = true
	}
}

// minToken is the shortest part of a URL that is a secret although nothing says so: users and the
// values of a query are mostly words.
const minToken = 16

// AddURL adds the secrets in the address of a service: its password, and users and values of the
// query that are tokens.
func (r *Redactor) AddURL(address string) {
	u, err := url.Parse(address)
	if err != nil {
		return
	}
	var secrets []string
	if password, ok := u.User.Password(); ok {
		secrets = append(secrets, password)
	}
	if user := u.User.Username(); len(user) >= minToken {
		secrets = append(secrets, user)
	}
	for name, values := range u.Query() {
		for _, value := range values {
			if isSecretName(name) || len(value) >= minToken {
				secrets = append(secrets, value)
			}
		}
	}
	r.Add(secrets...)
}

// Text replaces the secrets in a text. It is also applied to the output of a replay, so the same
// text always has the same result.
func (r *Redactor) Text(text string) string {
	r.mu.RLock()
	defer r.mu.RUnlock()
	if r.replacer != nil {
		text = r.replacer.Replace(text)
	}
	if len(r.long) > 0 && strings.Contains(text, `\`) {
		text = r.escaped().ReplaceAllString(text, Redacted)
	}
	for _, value := range r.short {
		text = replaceWord(text, value)
	}
	return r.replaceCut(replaceNamed(text))
}

// Partial is Text for the beginning of a text that goes on: it drops the last word, and an end with
// which a secret may begin.
func (r *Redactor) Partial(text string) string {
	r.mu.RLock()
	drop := 0
	for _, value := range r.long {
		drop = max(drop, overlap(text, value, 1))
	}
	r.mu.RUnlock()
	text = text[:len(text)-drop]
	return r.Text(text[:strings.LastIndexAny(text, " \t\n")+1])
}

// replaceWord replaces a short secret where it is a whole word.
func replaceWord(text, word string) string {
	var out strings.Builder
	isWord := func(c rune) bool { return unicode.IsLetter(c) || unicode.IsDigit(c) || c == '_' }
	for done := 0; ; {
		at := strings.Index(text[done:], word)
		if at < 0 {
			return out.String() + text[done:]
		}
		at += done
		end := at + len(word)
		before, _ := utf8.DecodeLastRuneInString(text[:at])
		after, _ := utf8.DecodeRuneInString(text[end:])
		out.WriteString(text[done:at])
		if isWord(before) || isWord(after) {
			out.WriteString(word)
		} else {
			out.WriteString(Redacted)
		}
		done = end
	}
}

// ellipsis marks in texts of nanobot where something is left out.
const ellipsis = "…"

// replaceCut replaces parts of secrets where a text may have been cut: at its ends, and next to an
// ellipsis.
func (r *Redactor) replaceCut(text string) string {
	pieces := strings.Split(text, ellipsis)
	for i, piece := range pieces {
		// process.Bounded writes "[… 7 bytes left out …]" on a line of its own
		head := piece[:len(piece)-len(strings.TrimLeft(piece, "] \n"))]
		tail := piece[len(strings.TrimRight(piece, "[ \n")):]
		if len(head) == len(piece) {
			continue
		}
		middle := piece[len(head) : len(piece)-len(tail)]
		for _, value := range r.long {
			if n := overlap(value, middle, minSecret); n > 0 && n < len(value) {
				middle = Redacted + middle[n:]
			}
			if n := overlap(middle, value, minSecret); n > 0 && n < len(value) {
				middle = middle[:len(middle)-n] + Redacted
			}
		}
		pieces[i] = head + middle + tail
	}
	return strings.Join(pieces, ellipsis)
}

// overlap returns the length of the longest end of a that b begins with, if it is at least least,
// and else 0.
func overlap(a, b string, least int) int {
	for n := min(len(a), len(b)); n >= least; n-- {
		if a[len(a)-n:] == b[:n] {
			return n
		}
	}
	return 0
}

// Parts of the patterns of secrets with a name. A value in quotes ends with its quote, a list with
// its bracket, and any other at white space.
const (
	names = `[\w.-]*(?:(?:(?:api|access|private)[-_]?key|secret|passw(?:or)?d|credential)s?|token|passphrase)` +
		`(?:[-_](?:id|key|value))?`
	header   = `(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|auth)`
	quoted   = `\\"(?:[^"\\]|\\[^"])*(?:\\"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|` + "`[^`]*(?:`|$)"
	space    = `[ \t]*(?:\r?\n[ \t]*)?`
	anyValue = quoted + `|\[[^\]]*(?:\]|$)|\S+`
)

// secretPatterns match a secret in the group 2, and in the group 1 what is before it. Only a text
// with one of the words, in lower case, can match.
var secretPatterns = []struct {
	words   []string
	pattern func() *regexp.Regexp
}{
	// Authorization: Bearer abc, to the end of the line or of the quotes around it
	{headerWords, lazyregexp.New(`(?i)("(?:` + header + `)[ \t]*:[ \t]*)([^"\r\n]+)`)},
	{headerWords, lazyregexp.New(`(?i)('(?:` + header + `)[ \t]*:[ \t]*)([^'\r\n]+)`)},
	{headerWords, lazyregexp.New(`(?i)((?:\b(?:` + header + `))(?:\\?["'])?[ \t]*[:=]` + space + `)(` + quoted + `|[^\r\n]+)`)},
	// api_key: abc, "password": "abc", TOKEN=abc, a column after a tab
	{nameWords, lazyregexp.New(`(?i)((?:` + names + `)[\\"'*_` + "`" + `\]]{0,3}(?:[ \t]+is)?(?:` + space + `(?::=|=>|[:=])[*_]{0,2}` + space + `|\t+))(` + anyValue + `)`)},
	// --token abc
	{nameWords, lazyregexp.New(`(?i)((?:^|[\s"'])--?[\w-]*(?:` + names + `)` + `[ \t]+)(` + anyValue + `)`)},
	// ["Authorization", "abc"] and {"name": "api_key", "value": "abc"}
	{allWords, lazyregexp.New(`(?i)((?:["'][\w.-]*(?:` + names + `|` + header + `)\\?["'])\s*,\s*(?:\\?["']value\\?["']\s*:\s*)?)(` + quoted + `)`)},
	// https://user:abc@example.com
	{[]string{"://"}, lazyregexp.New(`(://[^\s/@:"']*:)([^\s/@"']+)@`)},
	// values that say themselves what they are
	{[]string{"bearer", "basic"}, lazyregexp.New(`(\b(?:Bearer|Basic)\s+)([\w.~+/=-]{16,})`)},
	{
		[]string{"sk-", "gh", "xox", "akia", "aiza"},
		lazyregexp.New(`()\b(sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abpr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})`),
	},
}

var (
	headerWords = []string{"authorization", "cookie", "x-"}
	nameWords   = []string{"key", "token", "secret", "passw", "passphrase", "credential"}
	allWords    = slices.Concat(headerWords, nameWords)
)

// replaceNamed replaces the secrets that have a name or the form of one.
func replaceNamed(text string) string {
	lower := strings.ToLower(text)
	for _, p := range secretPatterns {
		if slices.ContainsFunc(p.words, func(word string) bool { return strings.Contains(lower, word) }) {
			text = replaceGroup(p.pattern(), text)
		}
	}
	return text
}

// replaceGroup replaces the group 2 of each match, without its quotes.
func replaceGroup(pattern *regexp.Regexp, text string) string {
	var out strings.Builder
	done := 0
	for _, m := range pattern.FindAllStringSubmatchIndex(text, -1) {
		value, quote := text[m[4]:m[5]], ""
		if rest, ok := strings.CutPrefix(value, Redacted); ok && (rest == "" || strings.Contains("\\\"'`", rest[:1])) {
			continue
		}
		for _, q := range []string{`\"`, `"`, `'`, "`"} {
			if strings.HasPrefix(value, q) {
				quote = q
				break
			}
		}
		out.WriteString(text[done:m[4]] + quote + Redacted)
		if len(value) >= 2*len(quote) && strings.HasSuffix(value, quote) {
			out.WriteString(quote)
		}
		done = m[5]
	}
	return out.String() + text[done:]
}

func (r *Redactor) texts(texts []string) []string {
	for i := range texts {
		texts[i] = r.Text(texts[i])
	}
	return texts
}

// constants are the fields of lines whose values are words of the format, numbers or IDs.
var constants = map[string]bool{
	"type": true, "channel": true, "account": true, "chat_id": true, "session_key": true, "thread_id": true, "id": true,
	"message_id": true, "run_id": true, "conversation_id": true, "by": true, "origin": true, "role": true, "date": true,
	"time": true, "language": true, "format": true, "kind": true, "state": true, "status": true,
	"signal": true, "sha256": true,
}

// line returns a copy of a line without secrets.
func (r *Redactor) line(l Line) (out Line, err error) {
	encoded, err := json.Marshal(l)
	var tree any
	if err == nil {
		err = json.Unmarshal(encoded, &tree)
	}
	if err == nil {
		encoded, err = json.Marshal(r.value("", tree))
	}
	if err == nil {
		err = json.Unmarshal(encoded, &out)
	}
	return out, err
}

// value returns the value of a field without the secrets in its texts.
func (r *Redactor) value(field string, value any) any {
	switch value := value.(type) {
	case string:
		switch {
		case field == "api_keys":
			return Redacted
		case field == "screen": // which wraps long lines
			lines := strings.Split(r.Text(value), "\n")
			return strings.Join(r.texts(lines), "\n")
		case !constants[field]:
			return r.Text(value)
		}
	case []any:
		for i := range value {
			value[i] = r.value(field, value[i])
		}
	case map[string]any:
		for name := range value {
			value[name] = r.value(name, value[name])
		}
	}
	return value
}
