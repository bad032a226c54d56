package terminal_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/markdown"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// texts is a memory of a chat that outlives runners.
type texts struct {
	mu  sync.Mutex
	all map[terminal.MemoryKey]string
}

func (m *texts) Load(_ context.Context, key terminal.MemoryKey) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.all[key], nil
}

func (m *texts) Save(_ context.Context, key terminal.MemoryKey, text string) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.all == nil {
		m.all = map[terminal.MemoryKey]string{}
	}
	m.all[key] = text
	return nil
}

// newHearing returns a fixture whose agent prints the text of its message.
func newHearing(t *testing.T, hear map[string]string) *turnFixture {
	t.Helper()
	b := newTurnFixture(t, "plain", `printf %s "$NANOBOT_TEXT"`)
	b.opts.Config.Hear, b.opts.Config.HearTimeout = hear, 300
	b.opts.TypeOf = channels.TypeOf
	b.opts.SpokenText = func(s string, f terminal.Format) string { return markdown.Spoken(s, channels.Format(f)) }
	b.chat.Remember = &texts{}
	b.req.Text = ""
	return b
}

// attach makes the message one of files with these names and contents.
func (b *turnFixture) attach(files ...string) *turnFixture {
	b.t.Helper()
	dir := musttest.Get(terminal.UserDir(b.workspace, b.req.Channel, b.req.ChatID))(b.t)
	b.req.Media, b.req.MediaNames = nil, nil
	for i := 0; i < len(files); i += 2 {
		path := filepath.Join(dir, files[i])
		musttest.Do(b.t, os.WriteFile(path, []byte(files[i+1]), 0o600))
		b.req.Media = append(b.req.Media, path)
	}
	return b
}

// heard returns what the person was shown of the files, one line for each.
func (b *turnFixture) heard() (lines []string) {
	for _, f := range b.frames {
		for _, h := range f.Heard {
			lines = append(lines, h.Name+": "+h.Text+h.Problem)
		}
	}
	return lines
}

func (b *turnFixture) expectHeard(want ...string) *turnFixture {
	b.t.Helper()
	if b.err != nil {
		b.t.Fatal(b.err)
	}
	wanttest.Equal(b.t, "shown", strings.Join(b.heard(), "\n"), strings.Join(want, "\n"))
	return b
}

// answer returns the last message of the turn.
func (b *turnFixture) answer() string {
	if len(b.frames) == 0 {
		return ""
	}
	return b.frames[len(b.frames)-1].Text
}

func TestFilesBecomeTextOfTheMessageInTheirOrder(t *testing.T) {
	b := newHearing(t, map[string]string{"audio/*": "tr a-z A-Z <{file}", "audio/mpeg": "echo exact", "application/pdf": "exit 3"})
	b.req.Text = "listen"
	b.attach("1.ogg", "one", "2.mp3", "x", "3.pdf", "x", "4.txt", "not heard", "5.ogg", "five").run()
	b.expectHeard("1.ogg: ONE", "2.mp3: exact", "3.pdf: Could not hear 3.pdf: exit status 3", "5.ogg: FIVE")
	wanttest.Equal(t, "the agent's text", b.answer(), "listen\n\nONE\n\nexact\n\nFIVE")
	wanttest.Equal(t, "the person is notified", b.frames[0].Silent, true)

	b.opts.Config.Command = `read -r line; printf '%s' "$line" | jq -c '[.text, .heard]'`
	b.attach("1.ogg", "one")
	dir := filepath.Dir(b.req.Media[0])
	wanttest.Equal(t, "the envelope", b.run().answer(), `["listen\n\nONE",[{"file":"`+dir+`/1.ogg","text":"ONE"}]]`)
	b.opts.Config.PassMedia = false
	wanttest.Equal(t, "the envelope without files", b.run().answer(), `["listen\n\nONE",[{"file":"1.ogg","text":"ONE"}]]`)
}

func TestACommandThatDoesNotHearIsSaidAndTheTurnGoesOn(t *testing.T) {
	for name, tc := range map[string]struct{ command, want string }{
		"its last line of stderr":     {"echo first >&2; echo 'no model'  >&2; echo >&2; exit 1 # {file}", "Could not hear a.ogg: no model"},
		"no stderr":                   {"exit 7 # {file}", "Could not hear a.ogg: exit status 7"},
		"a signal":                    {"kill -9 $$ # {file}", "Could not hear a.ogg: killed by SIGKILL"},
		"nothing":                     {"printf ' \\f\\n' # {file}", "Could not hear a.ogg: the command found no words"},
		"binary data":                 {"printf 'a\\0b' # {file}", "Could not hear a.ogg: the command printed binary data"},
		"no such program":             {"exec 2>&-; no-such-program {file}", "Could not hear a.ogg: exit status 127"},
		"other encodings":             {"printf 'caf\\351' # {file}", "caf\uFFFD"},
		"escapes":                     {"printf '\\033[1mbold\\033[0m' # {file}", "bold"},
		"children that go on":         {"(sleep 3600; echo late) & echo soon # {file}", "soon"},
		"children of another session": {"setsid sh -c 'sleep 3600' >/dev/null 2>&1 & echo soon # {file}", "soon"},
		"stdin is empty":              {"cat; echo end # {file}", "end"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newHearing(t, map[string]string{"audio/*": tc.command}).attach("a.ogg", "x")
			b.req.Text = "text"
			b.run().expectHeard("a.ogg: " + tc.want)
			if want := "text"; !strings.HasPrefix(b.answer(), want) {
				t.Errorf("the agent got %q", b.answer())
			}
		})
	}
}

func TestACommandThatHangsOrFloodsIsKilled(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "trap '' TERM; sleep 3600 & wait # {file}", "application/pdf": "yes äöü # {file}"})
	b.opts.Config.HearTimeout = 1
	b.attach("a.ogg", "x").run().expectHeard("a.ogg: Could not hear a.ogg: the command took too long")
	b.opts.Config.HearTimeout = 300
	b.attach("a.pdf", "x").run()
	if text := b.answer(); len(text) > 64<<10 || len(text) < 63<<10 || strings.ContainsRune(text, '\uFFFD') {
		t.Errorf("the agent got %d bytes, ending in %q", len(text), text[max(0, len(text)-20):])
	}
}

func TestTheNameOfAFileIsNoCode(t *testing.T) {
	t.Parallel()
	for _, name := range []string{`a b.ogg`, `$(touch pwned).ogg`, "`touch pwned`.ogg", `'; touch pwned; '.ogg`, `"; touch pwned; ".ogg`, "-rf *.ogg", "new\nline.ogg", `\'.ogg`} {
		b := newHearing(t, map[string]string{"audio/*": "cat {file}"}).attach(name, "words")
		b.run().expectHeard(strings.ReplaceAll(name, "\n", " ") + ": words")
		if _, err := os.Lstat(filepath.Join(b.workspace, "pwned")); err == nil {
			t.Errorf("%q was executed", name)
		}
	}
}

func TestAFileIsHeardOnceAndRememberedByItsContent(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "echo run >>runs; cat {file}"})
	runs := func() int {
		content, _ := os.ReadFile(filepath.Join(b.workspace, "runs"))
		return strings.Count(string(content), "run")
	}
	for _, name := range []string{"a.ogg", "a.ogg", "b.ogg"} { // each in a runner of its own, as after a restart
		b.attach(name, "words").run().expectHeard(name + ": words")
	}
	wanttest.Equal(t, "runs", runs(), 1)
	b.req.History = []terminal.HistoryEntry{{Role: "user", Media: b.req.Media}}
	b.opts.Config.Command = `jq -r '.history[].text'`
	wanttest.Equal(t, "the history of a file that was heard under another name", b.run().answer(), "words")
	b.attach("a.ogg", "other words").run().expectHeard("a.ogg: other words")
	wanttest.Equal(t, "runs with other content", runs(), 2)
	for i := range 6 { // each is a fifth of what is remembered
		b.attach("long.ogg", fmt.Sprint(i)+strings.Repeat("x", 60<<10)).run()
	}
	if size := len(b.chat.Remember.(*texts).all[terminal.HeardMemory]); size > 300<<10 {
		t.Errorf("the memory has %d bytes", size)
	}
	b.attach("a.ogg", "words").run().expectHeard("a.ogg: words")
	wanttest.Equal(t, "runs after the text was forgotten", runs(), 9)

	b.opts.Config.Hear = map[string]string{"audio/*": "echo run >>runs; exit 1 # {file}"}
	b.attach("c.ogg", "c").run()
	b.run()
	wanttest.Equal(t, "runs of a failure", runs(), 11)
}

func TestTheHistoryHasTheTextsOfFiles(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "cat {file}"}).attach("a.ogg", "spoken words").run()
	b.opts.Config.Command = `read -r line; printf '%s' "$line" | jq -r '.history[].text'`
	b.req.History = []terminal.HistoryEntry{{Role: "user", Media: b.req.Media}, {Role: "agent", Text: "an answer"}}
	b.req.Media, b.req.Text = nil, "next"
	wanttest.Equal(t, "the history", b.run().answer(), "spoken words\nan answer")
}

func TestReasonsOfFailuresAreHiddenLikeOtherErrors(t *testing.T) {
	t.Parallel()
	for _, command := range []string{"echo a-token >&2; exit 1 # {file}", "kill -9 $$ # {file}"} {
		b := newHearing(t, map[string]string{"audio/*": command}).attach("a.ogg", "x")
		if b.opts.Config.RevealErrors = (config.Selection{}); strings.HasPrefix(command, "kill") {
			b.opts.Config.RevealErrors.All, b.opts.Config.Stderr = true, "never"
		}
		b.opts.Config.Command, b.opts.Config.Speak = "echo words", config.Speak{Command: command, When: "always"}
		b.run().expectHeard("a.ogg: Could not hear a.ogg: the command failed")
		wanttest.Equal(t, "of speech", b.answer(), "Could not speak the answer: the command failed")
		wanttest.Equal(t, "logged reasons", b.logs.FilterField(zap.Error(errors.New("a-token"))).Len()+b.logs.FilterField(zap.Error(errors.New("killed by SIGKILL"))).Len(), 2)
	}
}

// TestWhatWasHeardIsShownBeforeTheWaitForASlot has no free slot when the file was heard.
func TestWhatWasHeardIsShownBeforeTheWaitForASlot(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "cat {file}"}).attach("a.ogg", "words")
	shown := -1
	b.chat.OnAside = func(context.Context) func(context.Context) error {
		return func(context.Context) error {
			shown = len(b.frames)
			return nil
		}
	}
	wanttest.Equal(t, "answer", b.run().answer(), "words")
	wanttest.Equal(t, "messages before the slot", shown, 1)
}

func TestACommandRunsInTheWorkspaceWhereverTheAgentWorks(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "sh hear.sh {file}"}).attach("a.ogg", "words")
	b.putFile("hear.sh", "cat \"$1\"")
	b.req.Place.Workspace = "projects/x"
	b.run().expectHeard("a.ogg: words")
}

func TestHearingStopsWithItsTurn(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "echo $$ >pid; sleep 3600 # {file}"}).attach("a.ogg", "x")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	var watch sync.WaitGroup
	watch.Go(func() {
		for {
			if _, err := os.Stat(filepath.Join(b.workspace, "pid")); err == nil {
				break
			}
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	})
	b.runUntil(ctx)
	watch.Wait()
	wanttest.Equal(t, "status", b.out.Status, terminal.Stopped)
}

// TestTheSandboxHoldsForHearing is not parallel, since its supervisor reaps processes of all tests.
func TestTheSandboxHoldsForHearing(t *testing.T) {
	b := newHearing(t, map[string]string{"audio/*": `cat {file}; cat ../secret; echo x >../file; echo mine >users/local/f; ulimit -n`}).supervised().sandboxed()
	b.opts.Config.Limits.Files = 99
	b.attach("a.ogg", "words ").run().expectHeard("a.ogg: words 99")
	if _, err := os.Lstat(filepath.Join(b.workspace, "..", "file")); !errors.Is(err, os.ErrNotExist) {
		t.Error("the command has written outside of the sandbox")
	}
}

const speakToFile = `cat >{file}; echo spoken >>runs`

// newSpeaking returns a fixture whose agent prints a Markdown text and speaks.
func newSpeaking(t *testing.T, when string) *turnFixture {
	t.Helper()
	b := newHearing(t, nil)
	b.opts.Config.Command = `echo agent >>runs; printf '# Hello\n\nSome *words*.\n\n` + "```\\ncode\\n```" + `\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\nThe end.\n'`
	b.opts.Config.Format = "markdown"
	b.opts.Config.Speak.Command, b.opts.Config.Speak.When = speakToFile, when
	return b
}

// runs returns what was run, in order.
func (b *turnFixture) runs() string {
	content, _ := os.ReadFile(filepath.Join(b.workspace, "runs"))
	return strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", " ")
}

func TestAMessageWithAVoiceIsAnsweredInTextAndByVoice(t *testing.T) {
	t.Parallel()
	b := newSpeaking(t, "voice").attach("note.ogg", "x")
	var spoken string
	b.emit = func(f terminal.Frame) error {
		if f.Speech {
			spoken = string(musttest.Get(os.ReadFile(f.Checked[0].Path))(t))
		}
		return nil
	}
	b.run()
	wanttest.Equal(t, "what was spoken", spoken, "Hello\n\nSome words.\n\nThe end.")
	wanttest.Equal(t, "messages", len(b.frames), 2)
	wanttest.Equal(t, "its name", filepath.Ext(b.frames[1].Checked[0].Path), ".ogg")
	left := musttest.Get(filepath.Glob(filepath.Join(b.workspace, "users/local/.speech*")))(t)
	wanttest.Equal(t, "files left", len(left), 0)

	for _, tc := range []struct {
		when, file string
		messages   int
	}{{"voice", "picture.png", 1}, {"always", "picture.png", 2}, {"voice", "note.ogg", 2}} {
		b := newSpeaking(t, tc.when).attach(tc.file, "x").run()
		wanttest.Equal(t, tc.when+" "+tc.file, len(b.frames), tc.messages)
	}
}

func TestAnAnswerThatCannotBeSpokenIsSaid(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct{ command, want string }{
		"a failure":     {"echo 'no voice' >&2; exit 1 # {file}", "Could not speak the answer: no voice"},
		"no file":       {"cat >/dev/null # {file}", "Could not speak the answer: the command wrote no file"},
		"an empty file": {": >{file}", "Could not speak the answer: the file is empty"},
		"a link":        {"ln -s /etc/passwd {file}", "Could not speak the answer: outside the folders that files may be sent from (mediaRoots)"},
		"a flood":       {"cat >{file}; yes", "Could not speak the answer: the command took too long"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newSpeaking(t, "always")
			if b.opts.Config.Speak.Command = tc.command; name == "a flood" {
				b.opts.Config.HearTimeout = 1
			}
			b.run()
			if b.err != nil || b.out.Status != terminal.Done || len(b.frames) != 2 {
				t.Fatalf("%v %v %v", b.err, b.out, b.frames)
			}
			if got := b.answer(); got != tc.want {
				t.Errorf("said %q", got)
			}
		})
	}
	b := newSpeaking(t, "always")
	b.opts.Config.Command = "echo words; exit 1"
	wanttest.Equal(t, "messages of a failure", len(b.run().frames), 1)
	b.opts.Config.Command = "printf '```\\ncode\\n```\\n'"
	wanttest.Equal(t, "messages of code alone", len(b.run().frames), 1)
}

// TestAnAnswerIsSpokenAfterACrash runs a turn again whose daemon has died while it was spoken.
func TestAnAnswerIsSpokenAfterACrash(t *testing.T) {
	t.Parallel()
	b := newSpeaking(t, "always")
	crash := errors.New("the daemon dies")
	b.emit = func(f terminal.Frame) error {
		if f.Speech {
			return crash
		}
		return nil
	}
	b.run()
	b.emit = nil
	b.run().expectFrames(terminal.Done, "message:  [.speech-run.ogg]")
	wanttest.Equal(t, "what ran", b.runs(), "agent spoken spoken")
	b.run() // once more, after the answer was spoken
	wanttest.Equal(t, "what ran", b.runs(), "agent spoken spoken")
	wanttest.Equal(t, "messages", len(b.frames), 0)
	if left := b.chat.Remember.(*texts).all[terminal.SpeechMemory]; strings.Contains(left, "words") {
		t.Errorf("the memory has %s", left)
	}
	b.req.Attempt = 2 // the person has it run again
	wanttest.Equal(t, "messages", len(b.run().frames), 2)
	wanttest.Equal(t, "what ran at last", b.runs(), "agent spoken spoken agent spoken")
}

// TestASpeechThatIsCutOffIsNotDone tells the gateway that the turn has not ended by itself, so that
// the next start speaks the answer.
func TestASpeechThatIsCutOffIsNotDone(t *testing.T) {
	t.Parallel()
	b := newSpeaking(t, "always")
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	b.opts.Config.Speak.Command = "echo waits >>runs; exec sleep 3600 # {file}"
	var watch sync.WaitGroup
	watch.Go(func() {
		for b.runs() != "agent waits" {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	})
	b.runUntil(ctx)
	watch.Wait()
	wanttest.Equal(t, "status", b.out.Status, terminal.Stopped)
	wanttest.Equal(t, "messages", len(b.frames), 1)
	b.opts.Config.Speak.Command = speakToFile
	b.run().expectFrames(terminal.Done, "message:  [.speech-run.ogg]")
	wanttest.Equal(t, "what ran", b.runs(), "agent waits spoken")
}

func TestAMessageWithAFileToHearGetsATurnOfItsOwn(t *testing.T) {
	t.Parallel()
	b := newHearing(t, map[string]string{"audio/*": "cat {file}"})
	b.opts.Protocol = readerProtocol{}
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	for file, want := range map[string]bool{"note.ogg": false, "answer.txt": true} {
		read, err := r.ReadMessage(t.Context(), terminal.PersonMessage{Text: "read me", Media: []string{file}})
		if read != want || err != nil {
			t.Errorf("%s was read: %v, %v", file, read, err)
		}
	}
}
