package main

import (
	"bytes"
	"fmt"
	"mime/multipart"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// needVoices skips a test without the programs that make and read voice notes.
func needVoices(t *testing.T, more ...string) {
	t.Helper()
	for _, name := range append(more, "espeak-ng", "opusenc", "opusdec") {
		if _, err := exec.LookPath(name); err != nil {
			t.Skipf("%s is missing on this machine", name)
		}
	}
}

// voiceNote returns a voice note, in which a comment repeats the words for the recogniser of the
// tests.
func voiceNote(t *testing.T, words string) []byte {
	t.Helper()
	file := filepath.Join(t.TempDir(), "note.ogg")
	out, err := exec.Command("sh", "-c", `espeak-ng --stdout "$1" | opusenc --quiet --comment "WORDS=$1" - "$2"`, "sh", words, file).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return musttest.Get(os.ReadFile(file))(t)
}

// recognise finds the words of a voice note. With a file "hold" beside the config it waits.
const recognise = `echo hear >>runs; while [ -e hold-hear ]; do sleep 0.01; done; opusdec --quiet {file} - >/dev/null && ` +
	`grep -aoE 'WORDS=[a-zA-Z ]+' {file} | cut -d= -f2`

// speakAloud makes a voice note of a text.
const speakAloud = `echo speak >>runs; while [ -e hold-speak ]; do sleep 0.01; done; tee said | espeak-ng --stdout --stdin | opusenc --quiet - {file}`

// voiceSettings are the keys of an agent that hears and speaks.
func voiceSettings(when string) string {
	return hearSettings() + fmt.Sprintf(`, "speak": {"command": %s, "when": %q}`, strconv.Quote(speakAloud), when)
}

// hearSettings are the keys of an agent that hears and does not speak.
func hearSettings() string { return fmt.Sprintf(`, "hear": {"audio/*": %s}`, strconv.Quote(recognise)) }

const voiceAgent = `read -r line; echo agent >>runs; echo '{"type":"message","text":"You said **'"$NANOBOT_TEXT"'**"}'`

// runs returns what the daemon has run, in order.
func (b *telegramBot) runs() string {
	content, _ := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), "runs"))
	return strings.ReplaceAll(strings.TrimSpace(string(content)), "\n", " ")
}

func (b *telegramBot) sendVoice(chat int64, caption string, content []byte) {
	b.api.UserPosts(telegramtest.UserPost{Chat: chat, Text: caption, Media: &telegramtest.Media{Kind: "voice", Content: content, Duration: 1}})
}

// hold makes the commands of a kind wait until release is called.
func (b *telegramBot) hold(kind string) (release func()) {
	file := filepath.Join(filepath.Dir(b.cfg), "hold-"+kind)
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		panic(err)
	}
	return func() { _ = os.Remove(file) }
}

// withoutProgress returns texts without the boards of a busy machine.
func withoutProgress(texts []string) []string {
	return slices.DeleteFunc(texts, func(s string) bool { return strings.HasPrefix(s, "⏳") || strings.HasPrefix(s, "✓") })
}

func TestAVoiceNoteOnTelegramIsHeardQuotedAndAnsweredByVoice(t *testing.T) {
	t.Parallel()
	needVoices(t)
	b := startTelegramBot(t, telegramSetup{agent: voiceAgent, terminal: voiceSettings("voice")})
	note := voiceNote(t, "buy some milk")
	b.sendVoice(7, "", note)
	b.api.WaitForText(t, 7, "You said buy some milk")
	b.awaitVoices(7, 1)
	wanttest.Equal(t, "quote and answer", strings.Join(withoutProgress(b.texts(7)), "|"), "buy some milk|You said buy some milk|")
	quote := b.api.WaitForText(t, 7, "buy some milk")
	if !quote.Silent || len(quote.Entities) != 1 || quote.Entities[0].Type != "blockquote" {
		t.Errorf("the quote is %+v", quote)
	}
	said := string(musttest.Get(os.ReadFile(filepath.Join(filepath.Dir(b.cfg), "said")))(t))
	wanttest.Equal(t, "what was spoken", said, "You said buy some milk")
	b.api.UserSends(7, "typed")
	b.api.WaitForText(t, 7, "You said typed")
	b.sendVoice(7, "", note)
	b.awaitVoices(7, 2)
	b.api.UserSends(7, "/new")
	b.sendVoice(7, "", note)
	b.awaitVoices(7, 3)
	b.stopCleanly()
	wanttest.Equal(t, "what ran", b.runs(), "hear agent speak agent agent speak hear agent speak")
}

func TestAReloadTakesOverHowFilesAreHeard(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: voiceAgent, terminal: `, "hear": {"audio/*": "echo first; : {file}"}`})
	b.sendVoice(7, "", []byte("OggS one"))
	b.api.WaitForText(t, 7, "You said first")
	replaceConfig(t, b.program, b.cfg, "echo first", "echo second")
	b.sendVoice(7, "", []byte("OggS one"))
	b.api.WaitForText(t, 7, "You said second")
	b.stopCleanly()
}

// TestAVoiceNoteDuringATurnWaitsForItsOwn has an agent that accepts messages while it runs.
func TestAVoiceNoteDuringATurnWaitsForItsOwn(t *testing.T) {
	t.Parallel()
	agent := `read -r line; case $line in *begin*) echo '{"type":"message","text":"ready"}'; read -r more; echo '{"type":"message","text":"injected: '$(echo "$more" | jq -r .text)'"}';; *) ` + voiceAgent[len("read -r line; "):] + `;; esac`
	b := startTelegramBot(t, telegramSetup{agent: agent, terminal: `, "interactive": true, "hear": {"audio/*": "echo words; : {file}"}`, gateway: `, "whileRunning": "inject"`})
	b.api.UserSends(7, "begin")
	b.api.WaitForText(t, 7, "ready")
	b.sendVoice(7, "", []byte("OggS one"))
	b.api.UserSends(7, "after it")
	b.api.AwaitPending(0, telegramtest.WaitLimit)
	b.api.UserSends(7, "/stop")
	b.api.WaitForText(t, 7, "You said words")
	b.api.WaitForText(t, 7, "You said after it")
	b.stopCleanly()
	if all := strings.Join(b.texts(7), "|"); strings.Contains(all, "injected") {
		t.Errorf("the running agent got a message: %s", all)
	}
}

func (b *telegramBot) awaitVoices(chat int64, n int) {
	b.t.Helper()
	if _, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		return len(slices.DeleteFunc(slices.Clone(all), func(m telegramtest.Message) bool { return m.Voice == nil })) >= n
	}); !ok {
		b.t.Fatalf("%d voice notes were not sent: %v", n, b.texts(chat))
	}
}

// TestKillsWhileFilesAreHeardAndAnswersAreSpokenRepeatNothingElse ends the daemon in each of the
// two commands.
func TestKillsWhileFilesAreHeardAndAnswersAreSpokenRepeatNothingElse(t *testing.T) {
	t.Parallel()
	needVoices(t)
	for _, end := range []syscall.Signal{syscall.SIGKILL, syscall.SIGTERM} {
		t.Run(end.String(), func(t *testing.T) {
			t.Parallel()
			b := startTelegramBot(t, telegramSetup{agent: voiceAgent, terminal: voiceSettings("voice"), gateway: `, "drainTimeout": 1`})
			releaseHear, releaseSpeak := b.hold("hear"), b.hold("speak")
			b.sendVoice(7, "", voiceNote(t, "hello"))
			b.awaitRuns("hear")
			b.restart(end, func() {})
			b.awaitRuns("hear hear")
			releaseHear()
			b.awaitRuns("hear hear agent speak")
			b.awaitReceipts()
			b.restart(end, func() {})
			b.awaitRuns("hear hear agent speak speak")
			releaseSpeak()
			b.awaitVoices(7, 1)
			b.stopCleanly()
			wanttest.Equal(t, "messages", strings.Join(withoutProgress(b.texts(7)), "|"), "hello|You said hello|")
			wanttest.Equal(t, "what ran", b.runs(), "hear hear agent speak speak")
		})
	}
}

func (b *telegramBot) awaitRuns(want string) {
	b.t.Helper()
	for deadline := time.Now().Add(waitTimeout); b.runs() != want; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			b.t.Fatalf("ran %q, want %q", b.runs(), want)
		}
	}
}

func TestAnAlbumOfVoiceNotesIsOneTurn(t *testing.T) {
	t.Parallel()
	needVoices(t)
	b := startTelegramBot(t, telegramSetup{agent: voiceAgent, terminal: voiceSettings("voice")})
	var notes []telegramtest.Media
	for _, words := range []string{"one", "two", "three"} {
		notes = append(notes, telegramtest.Media{Kind: "audio", Name: words + ".ogg", Content: voiceNote(t, words)})
	}
	b.api.UserSendsAlbum(telegramtest.UserPost{Chat: 7}, notes...)
	b.awaitVoices(7, 1)
	b.stopCleanly()
	wanttest.Equal(t, "what ran", b.runs(), "hear hear hear agent speak")
	wanttest.Equal(t, "the quotes", withoutProgress(b.texts(7))[0], "one.ogg\none\n\ntwo.ogg\ntwo\n\nthree.ogg\nthree")
}

// TestNotesBehindASlowCommandDelayNoOtherChat has two hundred notes wait in as many chats, with one
// slot for agents.
func TestNotesBehindASlowCommandDelayNoOtherChat(t *testing.T) {
	t.Parallel()
	needVoices(t)
	var people []string
	for i := range 60 { // more than agents may run, and commands
		people = append(people, strconv.Itoa(1000+i))
	}
	b := startTelegramBot(t, telegramSetup{
		agent: voiceAgent, terminal: hearSettings(), allow: `7", "` + strings.Join(people, `", "`), gateway: `, "drainTimeout": 1`,
	})
	release := b.hold("hear")
	note := voiceNote(t, "wait")
	for i := range people {
		b.sendVoice(int64(1000+i), "", note)
	}
	b.awaitRuns(strings.TrimSpace(strings.Repeat("hear ", max(2, runtime.NumCPU()))))
	for range 5 {
		b.api.UserSends(7, "quick")
		b.api.WaitForText(t, 7, "You said quick")
	}
	release()
	for i := range people {
		b.api.WaitForText(t, int64(1000+i), "You said wait")
	}
	b.signal(syscall.SIGTERM)
	b.awaitExit()
}

func TestAVoiceNoteOnDiscordIsHeardAndAnsweredByAFile(t *testing.T) {
	t.Parallel()
	needVoices(t)
	b := startDiscordBot(t, discordSetup{agent: voiceAgent, terminal: voiceSettings("voice")})
	b.api.UserSends(b.dm, ada, "", discordtest.File{Name: "voice-message.ogg", Type: "audio/ogg", Content: voiceNote(t, "buy some milk")})
	b.api.WaitForText(t, b.dm, "You said **buy some milk**")
	messages, ok := b.api.AwaitMessages(b.dm, waitTimeout, func(all []discordtest.Message) bool {
		return len(all) > 0 && len(all[len(all)-1].Attachments) == 1 && all[len(all)-1].Author.Bot
	})
	if !ok || !strings.HasSuffix(messages[len(messages)-1].Attachments[0].Filename, ".ogg") {
		t.Fatalf("no file was sent: %+v", messages)
	}
	wanttest.Equal(t, "the quote", withoutProgress(b.texts(b.dm))[0], "> buy some milk")
	b.stop()
}

func TestAVoiceNoteOnThePageIsHeardAndAnsweredByAPlayer(t *testing.T) {
	t.Parallel()
	needVoices(t)
	b := newWebBotWith(t, `"command": "sh agent.sh", "protocol": "rich"`+voiceSettings("voice"))
	ann := b.signIn("--user", "ann")
	next := ann.openEventStream()
	var form bytes.Buffer
	w := multipart.NewWriter(&form)
	_, err := musttest.Get(w.CreateFormFile("file", "voice.ogg"))(t).Write(voiceNote(t, "buy some milk"))
	musttest.Do(t, err)
	musttest.Do(t, w.Close())
	status, body := ann.request("POST", "/api/chats/web-a-known-to-nobody-else/messages", w.FormDataContentType(), &form)
	wanttest.Equal(t, "status "+body, status, 202)
	quote, answer, voice := next("message").data, next("message").data, next("message").data
	wanttest.Equal(t, "the quote", quote.Text, "> buy some milk")
	wanttest.Equal(t, "the answer", answer.Text, "re **buy some milk**")
	if len(voice.Media) != 1 || !strings.HasSuffix(voice.Media[0].Name, ".ogg") {
		t.Errorf("the voice is %+v", voice)
	}
}

// TestARealRecogniserHearsASpokenNote has pocketsphinx hear what espeak-ng says, among few words.
func TestARealRecogniserHearsASpokenNote(t *testing.T) {
	t.Parallel()
	needVoices(t, "pocketsphinx_continuous")
	hear := `opusdec --quiet --rate 16000 {file} heard.wav && pocketsphinx_continuous -jsgf words.jsgf -infile heard.wav -logfn /dev/null`
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = telegramSetup{agent: voiceAgent, terminal: `, "hear": {"audio/ogg": ` + strconv.Quote(hear) + `}`}.writeConfig(t, b.api)
	grammar := "#JSGF V1.0;\ngrammar g;\npublic <g> = go (forward | backward) (one | two | ten) meters;\n"
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), "words.jsgf"), []byte(grammar), 0o600))
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.sendVoice(7, "", voiceNote(t, "go forward ten meters"))
	b.api.WaitForText(t, 7, "You said go forward ten meters")
	b.stopCleanly()
}
