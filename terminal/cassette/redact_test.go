package cassette_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
	"nanobot/terminal/screen"
)

func TestSecretsWithANameAreRedacted(t *testing.T) {
	t.Parallel()
	r := cassette.NewRedactor(nil)
	for text, want := range map[string]string{
		"api_key: abc def":                        "api_key: [secret] def",
		"API-KEY=abc":                             "API-KEY=[secret]",
		"OPENAI_API_KEY = abc\nnext":              "OPENAI_API_KEY = [secret]\nnext",
		`{"password": "a \"quoted\" b", "x": 1}`:  `{"password": "[secret]", "x": 1}`,
		`password='it is'; next`:                  `password='[secret]'; next`,
		"`clientSecret`: `abc def` next":          "`clientSecret`: `[secret]` next",
		"**Password:** abc next":                  "**Password:** [secret] next",
		"passphrase:\n  abc\nnext":                "passphrase:\n  [secret]\nnext",
		"my password is: abc next":                "my password is: [secret] next",
		"token\tabc\tnext":                        "token\t[secret]\tnext",
		`{\"password\": \"a b\", \"x\": 1}`:       `{\"password\": \"[secret]\", \"x\": 1}`,
		`{"api_keys": ["abc", "def"], "x": 1}`:    `{"api_keys": [secret], "x": 1}`,
		"password: \"not closed":                  "password: \"[secret]",
		`{"api_keys": ["abc", "def", `:            `{"api_keys": [secret]`,
		"run --token abc --verbose":               "run --token [secret] --verbose",
		"run --api-key='a b' --verbose":           "run --api-key='[secret]' --verbose",
		"Authorization: Bearer a b c\nnext":       "Authorization: [secret]\nnext",
		`curl -H "Authorization: Bearer abc" url`: `curl -H "Authorization: [secret]" url`,
		`curl -H 'X-Api-Key: abc' url`:            `curl -H 'X-Api-Key: [secret]' url`,
		`{"Authorization": "Bearer abc", "x": 1}`: `{"Authorization": "[secret]", "x": 1}`,
		`[["Authorization", "Bearer abc"], 1]`:    `[["Authorization", "[secret]"], 1]`,
		`{"name":"X-Auth-Token","value":"abc"}`:   `{"name":"X-Auth-Token","value":"[secret]"}`,
		"Set-Cookie: a=b; Secure\nnext":           "Set-Cookie: [secret]\nnext",
		"postgres://user:abc@host/db":             "postgres://user:[secret]@host/db",
		"with Bearer abcdefghijklmnopqrst.":       "with Bearer [secret]",
		"it is sk-ant-REDACTED1234":               "it is [secret]",
		"password: [secret], next":                "password: [secret], next",
		"Tokens: 1234, a top-secret mission, the secret of the monkey, max_tokens=5": "Tokens: 1234, a top-secret mission, the secret of the monkey, max_tokens=5",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", text, got, want)
		}
		if again := r.Text(r.Text(text)); again != want {
			t.Errorf("%q is %q the second time", text, again)
		}
	}
}

func TestSecretsAreRedactedByTheirValues(t *testing.T) {
	t.Parallel()
	r := cassette.NewRedactor([]string{
		"MY_TOKEN=message", "MY_PASSWORD=123456", "API_KEYS=first-one,second-one", "DEBUG_SECRET=true", "HOME=/home/ann",
		"MAX_TOKENS=100000", "GITHUB_PAT=from-a-pat", "SSH_AUTH_SOCK=/run/agent", "DATABASE=postgres://user:from-url@host/db", "NESTED_KEY=123456789",
	}, "configured", "1234", "-----BEGIN-----\nline of a key\n-----END-----", `quo"ted & <b>`, "Bearer of-a-header")
	r.AddURL("https://user-that-is-a-token@example.com/v1?key=in-query&version=2026-11&sig=signature-of-it-all")
	for text, want := range map[string]string{
		"a message of 123456":        "a [secret] of [secret]",
		"first-one and second-one":   "[secret] and [secret]",
		"true /home/ann 100000":      "true /home/ann 100000",
		"from-url configured":        "[secret] [secret]",
		"12345678901234":             "[secret]01234",
		"your PIN is 1234, not 123":  "your PIN is [secret], not 123",
		"key: line of a key":         "key: [secret]",
		"the of-a-header is sent":    "the [secret] is sent",
		"a from-a-pat in /run/agent": "a [secret] in /run/agent",
		`x quo"ted & <b>`:            "x [secret]",
		`{"x":"quo\"ted & <b>"}`:     `{"x":"[secret]"}`,
		`x quo%22ted+%26+%3Cb%3E`:    "x [secret]",
		"user-that-is-a-token in-query 2026-11 signature-of-it-all": "[secret] [secret] 2026-11 [secret]",
		"[secret]":                      "[secret]",
		`x quo&#34;ted &amp; &lt;b&gt;`: "x [secret]",
		`a \_first\-one\_ \*`:           `a \_[secret]\_ \*`,
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", text, got, want)
		}
	}
	r.Add("secret", "[", "tell nobody")
	wanttest.Equal(t, "a secret that is the word secret leaves", r.Text("[secret] tell nobody a secret"), "[secret] [secret] a [secret]")
}

func TestAPartOfASecretIsRedactedWhereATextIsCut(t *testing.T) {
	t.Parallel()
	r := cassette.NewRedactor(nil, "abcdefghijkl-secret-value", "correct horse battery")
	for text, want := range map[string]string{
		"the key is abcdefghijkl":                                 "the key is [secret]",
		"ecret-value is the key":                                  "[secret] is the key",
		"head abcdefgh\n[… 7 bytes left out …]\net-value, a tail": "head [secret]\n[… 7 bytes left out …]\n[secret], a tail",
		"a line abcdefgh…":                                        "a line [secret]…",
		"…secret-value":                                           "…[secret]",
		"abc and value":                                           "abc and value",
		"abcdefgh in the middle":                                  "abcdefgh in the middle",
	} {
		if got := r.Text(text); got != want {
			t.Errorf("%q\ngot  %q\nwant %q", text, got, want)
		}
	}
	for text, want := range map[string]string{
		"the key is abcdefghijkl-secret-valu": "the key is ",
		"the key is a":                        "the key is ",
		"the key is not":                      "the key is ",
		"the key is not  \n":                  "the key is not  \n",
		"password: hunter":                    "password: ",
		"it is correct horse batt":            "it is ",
	} {
		wanttest.Equal(t, text, r.Partial(text), want)
	}
}

// record returns the lines that a story writes.
func record(t *testing.T, r *cassette.Redactor, story func(w *cassette.Writer)) string {
	t.Helper()
	var out bytes.Buffer
	w := cassette.NewWriter(cassette.WriterOptions{
		Out: &out, Redactor: r, FilesDir: filepath.Join(t.TempDir(), "x.files"),
		Header: &cassette.Header{Agent: "default", Protocol: "message", Nanobot: "123456"},
	})
	story(w)
	if err := w.Err(); err != nil {
		t.Fatal(err)
	}
	return out.String()
}

// TestSecretsOfFormatWordsDoNotBreakTheFormat has secrets whose values are words of the format.
func TestSecretsOfFormatWordsDoNotBreakTheFormat(t *testing.T) {
	t.Parallel()
	r := cassette.NewRedactor([]string{
		"MY_TOKEN=message", "MY_PASSWORD=123456", "APP_SECRET=default", "A_TOKEN=envelope", "B_TOKEN=cassette", "C_TOKEN=failed",
		"D_TOKEN=question", "E_TOKEN=person",
	})
	text := record(t, r, func(w *cassette.Writer) {
		w.Envelope(terminal.Envelope{
			Version: 1, Text: "my message 123456", Channel: "default", ChatID: "123456", Origin: "person",
			Providers: map[string]terminal.Provider{"default": {APIKeys: []string{"12"}, BaseURL: "https://x"}},
		})
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "default 123456"})
		w.Exit(terminal.Outcome{Status: terminal.Failed, ExitCode: 3}, errors.New("failed"))
	})
	c := musttest.Get(cassette.Parse("x", strings.NewReader(text)))(t)
	if c.Header.Agent != "default" || c.Header.Protocol != "message" || len(c.Lines) != 3 {
		t.Fatalf("%+v", c)
	}
	e, f, x := c.Lines[0].Envelope, c.Lines[1].Frame, c.Lines[2].Exit
	if e.Text != "my [secret] [secret]" || e.ChatID != "123456" || e.Channel != "default" || e.Origin != "person" ||
		e.Providers["default"].APIKeys[0] != cassette.Redacted || f.Type != terminal.Message || f.Text != "[secret] [secret]" ||
		x.Status != terminal.Failed || x.Error != cassette.Redacted {
		t.Errorf("got %s", text)
	}
}

func TestNoSecretIsInACassette(t *testing.T) {
	t.Parallel()
	r := cassette.NewRedactor([]string{"SERVICE_API_KEY=key-of-the-environment"})
	dir := t.TempDir()
	path := filepath.Join(dir, "key-of-the-environment.txt")
	musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
	file := musttest.Get(os.Open(path))(t)
	defer file.Close()
	key := "key-of-the-environment"
	text := record(t, r, func(w *cassette.Writer) {
		w.Envelope(terminal.Envelope{
			Text: key, Media: []string{path}, MediaNames: []string{key}, User: &terminal.User{Name: key, Username: key},
			ReplyTo:   &terminal.Quote{Text: key, Media: []string{path}, User: &terminal.User{Name: key}, Chat: &terminal.SourceChat{Title: key}},
			Forwarded: &terminal.Forwarded{From: &terminal.User{Name: key}, Chat: &terminal.SourceChat{Title: key}, Comment: key},
			Heard:     []terminal.Heard{{File: path, Text: key}}, History: []terminal.HistoryEntry{{Text: key, Media: []string{path}}},
			Workspace: "/" + key, UserDataDir: "/" + key, Providers: map[string]terminal.Provider{"p": {APIKeys: []string{key}, BaseURL: "https://" + key}},
		})
		for _, kind := range []terminal.Kind{terminal.Message, terminal.Progress, terminal.Error, terminal.Log, terminal.Partial} {
			w.Frame(terminal.Frame{
				Kind: kind, Text: "a " + key, Code: key, Level: key, Appended: key, Choices: []string{key},
				Checked: []terminal.File{{Path: path, Open: file}},
			})
		}
		w.Frame(terminal.Frame{Kind: terminal.Partial, Text: "the key is key-of-the-env"})
		s := screen.New(30, 3)
		_, _ = s.Write([]byte("a long line to wrap key-of-the-environment"))
		w.Frame(terminal.Frame{Kind: terminal.Message, Screen: s.Snapshot()})
		n := w.Ask(terminal.Question{ID: key, Text: key, Options: []string{key}, Secret: true})
		w.Answer(n, terminal.Answer{Text: "hunter2"}, nil)
		w.Frame(terminal.Frame{Kind: terminal.Message, Text: "so it is hunter2"})
		w.Answer(n, terminal.Answer{Text: "\xffhunter3"}, nil)
		w.Inject(terminal.Injection{Text: key + " hunter2", Media: []string{path}})
		w.Send(cassette.Send{ID: "1", Text: key, Buttons: []string{key}}, cassette.File{Path: path})
		w.Receipt(cassette.Receipt{ID: "1", Error: key})
		w.Exit(terminal.Outcome{Status: terminal.Done, Stderr: "of-the-environment\n" + key}, errors.New(key))
	})
	for _, secret := range []string{key, "hunter2", "hunter3", "environment", "key-of-the-e", "the-environment"} {
		if strings.Contains(text, secret) {
			t.Errorf("%q is in\n%s", secret, text)
		}
	}
	c := musttest.Get(cassette.Parse("x", strings.NewReader(text)))(t)
	wanttest.Equal(t, "the number of lines is", len(c.Lines), 15)
	var raw map[string]any
	musttest.Do(t, json.Unmarshal([]byte(strings.SplitN(text, "\n", 3)[1]), &raw))
}

// TestALongMessageIsWrittenOnceWhileItGrows bounds what a stream costs: each update has the whole
// text so far.
func TestALongMessageIsWrittenOnceWhileItGrows(t *testing.T) {
	t.Parallel()
	text := strings.Repeat("a word and ", 10_000)
	out := record(t, nil, func(w *cassette.Writer) {
		for n := 100; n < len(text); n += 100 {
			w.Frame(terminal.Frame{Kind: terminal.Partial, Text: text[:n]})
		}
	})
	c := musttest.Get(cassette.Parse("x", strings.NewReader(out)))(t)
	if len(out) > 2*len(text) || len(c.Lines) > 200 {
		t.Errorf("%d bytes in %d lines for %d bytes", len(out), len(c.Lines), len(text))
	}
	var all strings.Builder
	for _, l := range c.Lines {
		all.WriteString(l.Frame.Text)
	}
	if len(all.String()) < len(text)*9/10 || !strings.HasPrefix(text, all.String()) {
		t.Errorf("%d of %d bytes are there", all.Len(), len(text))
	}
}

func BenchmarkRedact(b *testing.B) {
	r := cassette.NewRedactor([]string{"A_KEY=abcdefghijkl", "B_TOKEN=mnopqrstuvwxyz"})
	for name, text := range map[string]string{
		"prose": strings.Repeat("The quick brown fox jumps over the lazy dog.\n", 25_000),
		"words": strings.Repeat("The key of a token: the quick brown fox jumps.\n", 25_000),
	} {
		b.Run(name, func(b *testing.B) {
			b.SetBytes(int64(len(text)))
			for b.Loop() {
				r.Text(text)
			}
		})
	}
}
