package cassette

import (
	"encoding/json"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"sync"
	"unicode"
	"unicode/utf8"

	"nanobot/internal/lazyregexp"
	"nanobot/terminal"
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
	replacer *strings.Replacer // of long
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
	secretName = regexp.MustCompile(`TOKEN|SECRET|PASSW(OR)?D|PASSPHRASE|CREDENTIAL|KEYS?(_|$)|(^|_)PASS(_|$)|[A-Z]_PWD$`)
	// countName matches the names of numbers and of switches, such as MAX_TOKENS.
	countName = regexp.MustCompile(`TOKENIZER|(MAX|MIN|NUM|COUNT|LIMIT|BUDGET).*TOKENS|TOKENS.*(MAX|MIN|NUM|COUNT|LIMIT|BUDGET)`)
)

// isSecretName reports whether a variable of this name has a secret.
func isSecretName(name string) bool {
	name = strings.ToUpper(name)
	return secretName.MatchString(name) && !countName.MatchString(name)
}

// Add adds secrets, and each line of a secret of several lines. Those that are shorter than
// minSecret are replaced only as whole words.
func (r *Redactor) Add(secrets ...string) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, secret := range secrets {
		for line := range strings.Lines(secret) {
			if line = strings.TrimSpace(line); len(line) >= minSecret {
				r.addForms(line)
			}
		}
		r.addForms(strings.TrimSpace(secret))
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
}

// addForms adds a secret as it is, as JSON and as a part of a URL.
func (r *Redactor) addForms(secret string) {
	if secret == "" || secret == Redacted {
		return
	}
	r.values[secret], r.values[url.QueryEscape(secret)], r.values[url.PathEscape(secret)] = true, true, true
	if quoted, err := json.Marshal(secret); err == nil {
		r.values[string(quoted[1:len(quoted)-1])] = true
	}
	if quoted, err := terminal.EncodeLine(secret); err == nil { // which leaves <, > and & as they are
		r.values[string(quoted[1:len(quoted)-2])] = true
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
	for _, value := range r.short {
		text = replaceWord(text, value)
	}
	return r.replaceCut(replaceNamed(text))
}

// Partial is Text for the beginning of a text that goes on: it drops an end with which a secret may
// begin.
func (r *Redactor) Partial(text string) string {
	r.mu.RLock()
	drop := 0
	for _, value := range r.long {
		drop = max(drop, overlap(text, value, 1))
	}
	r.mu.RUnlock()
	return r.Text(text[:len(text)-drop])
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

func (r *Redactor) texts(texts []string) []string {
	out := slices.Clone(texts)
	for i := range out {
		out[i] = r.Text(out[i])
	}
	return out
}

// Parts of the patterns of secrets with a name. A value in quotes ends with its quote, a list with
// its bracket, and any other at white space.
const (
	names = `[\w.-]*(?:(?:(?:api|access|private)[-_]?key|secret|passw(?:or)?d|credential)s?|token|passphrase)` +
		`(?:[-_](?:id|key|value))?`
	header   = `(?:proxy-)?authorization|(?:set-)?cookie|x-[\w-]*(?:key|token|auth)`
	quoted   = `\\"(?:[^"\\]|\\[^"])*(?:\\"|$)|"(?:[^"\\]|\\.)*(?:"|$)|'(?:[^'\\]|\\.)*(?:'|$)|` + "`[^`]*(?:`|$)"
	space    = `[ \t]*(?:\r?\n[ \t]*)?`
	anyValue = quoted + `|\[[^\]]*\]|\S+`
)

// secretPatterns match a secret in the group 2, and in the group 1 what is before it.
var secretPatterns = []func() *regexp.Regexp{
	// Authorization: Bearer abc, to the end of the line or of the quotes around it
	lazyregexp.New(`(?i)("(?:` + header + `)[ \t]*:[ \t]*)([^"\r\n]+)`),
	lazyregexp.New(`(?i)('(?:` + header + `)[ \t]*:[ \t]*)([^'\r\n]+)`),
	lazyregexp.New(`(?i)((?:\b(?:` + header + `))(?:\\?["'])?[ \t]*[:=]` + space + `)(` + quoted + `|[^\r\n]+)`),
	// api_key: abc, "password": "abc", TOKEN=abc, a column after a tab
	lazyregexp.New(`(?i)((?:` + names + `)[\\"'*_` + "`" + `\]]{0,3}(?:` + space + `(?::=|=>|[:=])[*_]{0,2}` + space + `|\t+))(` + anyValue + `)`),
	// --token abc
	lazyregexp.New(`(?i)((?:^|[\s"'])--?(?:` + names + `)` + `[ \t]+)(` + anyValue + `)`),
	// ["Authorization", "abc"] and {"name": "api_key", "value": "abc"}
	lazyregexp.New(`(?i)((?:["'](?:` + names + `|` + header + `)\\?["'])\s*,\s*(?:\\?["']value\\?["']\s*:\s*)?)(` + quoted + `)`),
	// https://user:abc@example.com
	lazyregexp.New(`(://[^\s/@:"']*:)([^\s/@"']+)@`),
	// values that say themselves what they are
	lazyregexp.New(`(\b(?:Bearer|Basic)\s+)([\w.~+/=-]{16,})`),
	lazyregexp.New(`()\b(sk-[\w-]{16,}|gh[pousr]_\w{20,}|github_pat_\w{20,}|xox[abpr]-[\w-]{10,}|AKIA[0-9A-Z]{16}|AIza[\w-]{30,})`),
}

// replaceNamed replaces the secrets that have a name or the form of one.
func replaceNamed(text string) string {
	for _, pattern := range secretPatterns {
		text = replaceGroup(pattern(), text)
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

// envelope returns a copy of an envelope without the secrets in its texts.
func (r *Redactor) envelope(e terminal.Envelope) terminal.Envelope {
	e.Text, e.Workspace, e.UserDataDir = r.Text(e.Text), r.Text(e.Workspace), r.Text(e.UserDataDir)
	e.Media, e.MediaNames, e.User = r.texts(e.Media), r.texts(e.MediaNames), r.user(e.User)
	if q := e.ReplyTo; q != nil {
		e.ReplyTo = &terminal.Quote{
			ID: q.ID, Text: r.Text(q.Text), Media: r.texts(q.Media), User: r.user(q.User), Chat: r.source(q.Chat),
		}
	}
	if f := e.Forwarded; f != nil {
		e.Forwarded = &terminal.Forwarded{
			From: r.user(f.From), Chat: r.source(f.Chat), Date: f.Date, Comment: r.Text(f.Comment),
		}
	}
	e.Heard, e.History = slices.Clone(e.Heard), slices.Clone(e.History)
	for i, h := range e.Heard {
		e.Heard[i].File, e.Heard[i].Text = r.Text(h.File), r.Text(h.Text)
	}
	for i, h := range e.History {
		e.History[i].Text, e.History[i].Media = r.Text(h.Text), r.texts(h.Media)
	}
	providers := e.Providers
	e.Providers = nil
	for name, p := range providers {
		if e.Providers == nil {
			e.Providers = map[string]terminal.Provider{}
		}
		keys := make([]string, len(p.APIKeys))
		for i := range keys {
			keys[i] = Redacted
		}
		e.Providers[name] = terminal.Provider{APIKeys: keys, Models: p.Models, BaseURL: r.Text(p.BaseURL)}
	}
	return e
}

func (r *Redactor) user(u *terminal.User) *terminal.User {
	if u == nil {
		return nil
	}
	return &terminal.User{ID: u.ID, Name: r.Text(u.Name), Username: r.Text(u.Username), Language: u.Language}
}

func (r *Redactor) source(c *terminal.SourceChat) *terminal.SourceChat {
	if c == nil {
		return nil
	}
	return &terminal.SourceChat{ID: c.ID, Title: r.Text(c.Title)}
}

// frame removes the secrets of a frame.
func (r *Redactor) frame(f *Frame) {
	redact := r.Text
	if f.Type == terminal.Partial {
		redact = r.Partial
	}
	f.Text, f.Code, f.Appended, f.Screen = redact(f.Text), r.Text(f.Code), r.Text(f.Appended), r.Text(f.Screen)
	f.Buttons = r.texts(f.Buttons)
}
