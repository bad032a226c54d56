package recording_test

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/signal"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"go.uber.org/zap"
	"go.uber.org/zap/zaptest/observer"

	"nanobot/channels"
	"nanobot/cmd/nanobot/recording"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/cassette"
)

// recorder is a Recorder with its folder and its log.
type recorder struct {
	*recording.Recorder
	folder recording.Folder
	log    *observer.ObservedLogs
}

func newRecorder(t *testing.T) recorder {
	t.Helper()
	core, log := observer.New(zap.DebugLevel)
	return recorder{recording.New(zap.New(core)), recording.Folder(filepath.Join(t.TempDir(), "recorded")), log}
}

// begin begins the recording of the turn of a message.
func (r recorder) begin(n int, text string) terminal.Recording {
	req := terminal.Request{Envelope: terminal.Envelope{RunID: fmt.Sprint(n), Channel: "net", ChatID: "7", Text: text}, RunName: "0123456789abcdef"}
	turn := r.For(recording.Agent{Path: r.folder.Path})(req, false)
	turn.Envelope(req.Envelope)
	return turn
}

// path is the path of the cassette of a message.
func (r recorder) path(n int) string {
	return filepath.Join(string(r.folder), fmt.Sprintf("%d-01234567", n)+cassette.Suffix)
}

// entries are the names in the folder.
func (r recorder) entries(t *testing.T) (names []string) {
	t.Helper()
	for _, e := range musttest.Get(os.ReadDir(string(r.folder)))(t) {
		names = append(names, e.Name())
	}
	return names
}

func TestWhatIsSentAfterTheTurnIsAppended(t *testing.T) {
	r := newRecorder(t)
	turn := r.begin(3, "hello")
	delivery := store.Delivery{ID: 9, Inbound: 3, Tries: 1, Out: channels.Outgoing{Kind: channels.Answer, Text: "hi"}}
	r.Sending(delivery)
	r.Settled(delivery, store.Settlement{State: store.Pending, Reason: "busy"}) // is tried again
	turn.Exit(terminal.Outcome{Status: terminal.Done}, nil)
	delivery.Tries = 2
	r.Sending(delivery)
	r.Settled(delivery, store.Settlement{State: store.Sent, Receipt: "55"})
	r.Sending(store.Delivery{ID: 10, Inbound: 4, Tries: 1}) // of another message
	var types []cassette.Type
	c := musttest.Get(cassette.Read(r.path(3)))(t)
	for _, l := range c.Lines {
		types = append(types, l.Type)
	}
	wanttest.EqualSlices(t, "lines", types, []cassette.Type{"envelope", "send", "exit", "receipt"})
	wanttest.Equal(t, "receipt", *c.Lines[3].Receipt, cassette.Receipt{ID: "9", MessageID: "55", State: "sent"})
	// A crash cannot bring a removed cassette back.
	musttest.Do(t, os.Remove(r.path(3)))
	r.Settled(delivery, store.Settlement{State: store.Sent, Receipt: "55"})
	wanttest.Equal(t, "entries", len(r.entries(t)), 0)
}

func TestARunningTurnWhoseCassetteWasRemovedLeavesNoFiles(t *testing.T) {
	r := newRecorder(t)
	turn := r.begin(3, "hello")
	musttest.Do(t, r.folder.Prune(context.Background(), time.Nanosecond, 0))
	path := filepath.Join(t.TempDir(), "a.txt")
	musttest.Do(t, os.WriteFile(path, []byte("x"), 0o600))
	turn.Inject(terminal.Injection{Text: "more", Media: []string{path}})
	turn.Exit(terminal.Outcome{Status: terminal.Done}, nil)
	wanttest.EqualSlices(t, "entries", r.entries(t), nil)
}

func TestCassettesArePrunedByAgeAndNumberAndOtherFilesStay(t *testing.T) {
	r := newRecorder(t)
	for n := 1; n <= 4; n++ {
		r.begin(n, "hello").Exit(terminal.Outcome{Status: terminal.Done}, nil)
		age := time.Now().Add(-time.Duration(5-n) * 24 * time.Hour)
		musttest.Do(t, os.Chtimes(r.path(n), age, age))
		musttest.Do(t, os.Mkdir(cassette.FilesDir(r.path(n)), 0o700))
		musttest.Do(t, os.WriteFile(filepath.Join(cassette.FilesDir(r.path(n)), "hash"), nil, 0o600))
	}
	own := "my-test" + cassette.Suffix
	musttest.Do(t, os.WriteFile(filepath.Join(string(r.folder), own), nil, 0o600))
	long := time.Now().Add(-999 * time.Hour)
	musttest.Do(t, os.Chtimes(filepath.Join(string(r.folder), own), long, long))

	musttest.Do(t, r.folder.Prune(context.Background(), 0, 0))
	wanttest.Equal(t, "without limits, entries", len(r.entries(t)), 9)
	musttest.Do(t, r.folder.Prune(context.Background(), 84*time.Hour, 0))
	wanttest.EqualSlices(t, "after 84 hours", r.entries(t), []string{
		"2-01234567.files", "2-01234567" + cassette.Suffix, "3-01234567.files", "3-01234567" + cassette.Suffix,
		"4-01234567.files", "4-01234567" + cassette.Suffix, own,
	})
	musttest.Do(t, r.folder.Prune(context.Background(), 84*time.Hour, 1))
	wanttest.EqualSlices(t, "of one", r.entries(t), []string{"4-01234567.files", "4-01234567" + cassette.Suffix, own})
}

func TestAllFoldersArePrunedAndOpened(t *testing.T) {
	used, earlier := newRecorder(t), newRecorder(t)
	earlier.begin(3, "hello").Exit(terminal.Outcome{Status: terminal.Done}, nil)
	all := recording.Folders{Used: used.folder, Earlier: earlier.folder}
	f := musttest.Get(all.Open(store.Inbound{ID: 3}, "0123456789abcdef"))(t)
	musttest.Do(t, f.Close())
	wanttest.Equal(t, "found", len(musttest.Get(all.Find(recording.Person{Channel: "net", Chats: []channels.Chat{{Channel: "net", ID: "7"}}}))(t)), 1)
	musttest.Do(t, all.Prune(context.Background(), time.Nanosecond, 0))
	wanttest.Equal(t, "entries", len(earlier.entries(t)), 0)
	if _, err := all.Open(store.Inbound{ID: 3}, "0123456789abcdef"); !errors.Is(err, fs.ErrNotExist) {
		t.Error(err)
	}
}

func TestATurnGoesOnThatCannotBeRecorded(t *testing.T) {
	r := newRecorder(t)
	musttest.Do(t, os.MkdirAll(string(r.folder), 0o700))
	musttest.Do(t, syscall.Mkfifo(r.path(1), 0o600))
	musttest.Do(t, os.Symlink("/dev/null", r.path(2)))
	for n := 1; n <= 2; n++ {
		turn := r.begin(n, "hello")
		turn.Frame(terminal.Frame{Kind: terminal.Message, Text: "hi"})
		turn.Answer(turn.Ask(terminal.Question{Text: "?"}), terminal.Answer{}, nil)
		turn.Exit(terminal.Outcome{Status: terminal.Done}, nil)
	}
	wanttest.Equal(t, "lines of the log", r.log.Len(), 1)

	full := r.begin(3, "hello")
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var before syscall.Rlimit
	musttest.Do(t, syscall.Getrlimit(syscall.RLIMIT_FSIZE, &before))
	musttest.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &syscall.Rlimit{Cur: 2000, Max: before.Max}))
	full.Frame(terminal.Frame{Kind: terminal.Message, Text: strings.Repeat("x", 3000)})
	musttest.Do(t, syscall.Setrlimit(syscall.RLIMIT_FSIZE, &before))
	full.Frame(terminal.Frame{Kind: terminal.Message, Text: "more"})
	full.Exit(terminal.Outcome{Status: terminal.Done}, nil)
	c := musttest.Get(cassette.Read(r.path(3)))(t)
	if len(c.Lines) != 1 || !c.Cut {
		t.Errorf("it has %+v, cut %v", c.Lines, c.Cut)
	}
	wanttest.Equal(t, "lines of the log", r.log.Len(), 2)

	again := r.begin(3, "hello")
	again.Frame(terminal.Frame{Kind: terminal.Message, Text: "hi"})
	c = musttest.Get(cassette.Read(r.path(3)))(t)
	wanttest.Equal(t, "lines after the next attempt", len(c.Lines), 3)
}

func TestASecretIsRedactedInLaterTurns(t *testing.T) {
	r := newRecorder(t)
	turn := r.begin(1, "hello")
	turn.Answer(turn.Ask(terminal.Question{Text: "Password?", Secret: true}), terminal.Answer{Text: "correct horse"}, nil)
	record := r.For(recording.Agent{Path: r.folder.Path})
	typed := terminal.Request{Envelope: terminal.Envelope{RunID: "2", Text: "battery staple"}, RunName: "0123456789"}
	record(typed, true).Envelope(typed.Envelope)
	r.begin(3, "I know correct horse and battery staple")
	for n := 1; n <= 3; n++ {
		content := string(musttest.Get(os.ReadFile(r.path(n)))(t))
		if strings.Contains(content, "horse") || strings.Contains(content, "battery") || !strings.Contains(content, "[secret]") {
			t.Errorf("%d has %s", n, content)
		}
	}
}

// TestTheCassettesOfAPersonAreFound has one for each way in which a person is in a turn.
func TestTheCassettesOfAPersonAreFound(t *testing.T) {
	folder := recording.Folder(t.TempDir())
	header := `{"type":"cassette","version":1}` + "\n"
	envelope := func(rest string) string {
		return header + `{"at":0,"type":"envelope","envelope":{"channel":"net","chat_id":"-5","text":"of ` + rest + `}}` + "\n"
	}
	bob := `bob","origin":"person","user":{"id":"8"}`
	for n, content := range []string{
		envelope(bob),
		envelope(`ann","origin":"person","user":{"id":"7"},"history":[{"role":"user","text":"of cid"}],"reply_to":{"id":"1","text":"of cid","user":{"id":"9"}}`),
		strings.Replace(envelope(bob), `"-5"`, `"7"`, 1),
		envelope(bob + `,"reply_to":{"id":"1","text":"of ann","user":{"id":"7"}}`),
		envelope(bob + `,"reply_to":{"id":"77","text":"to ann"}`),
		envelope(bob + `,"forwarded":{"from":{"id":"7"}}`),
		envelope(bob + `,"history":[{"role":"user","text":"of ann"}]`),
		envelope(bob) + `{"at":1,"type":"inject","inject":{"text":"of ann","user":{"id":"7"}}}` + "\n",
		envelope(bob) + `{"at":1,"type":"ask","ask":{"number":1,"text":"?"}}` + "\n" + `{"at":1,"type":"answer","answer":{"number":1,"text":"of ann","by":"7"}}` + "\n",
		strings.Replace(envelope(`ann","origin":"person","user":{"id":"7"}`), `"net"`, `"other"`, 1),
		header + `{"at":0,"type":"envelope","envel`,
		envelope(`hook","origin":"hook:ci","user":{"id":"7"}`),
		envelope(`ann","origin":"person","user":{"id":"7"}`) + `{"at":1,"type":"inject","inject":{"text":"of bob","user":{"id":"8"}}}` + "\n",
	} {
		musttest.Do(t, os.WriteFile(filepath.Join(string(folder), fmt.Sprintf("%d-01234567", n)+cassette.Suffix), []byte(content), 0o600))
	}
	group := channels.Chat{Channel: "net", ID: "-5"}
	ann := recording.Person{
		Channel: "net", User: "7", Chats: []channels.Chat{{Channel: "net", ID: "7"}}, Groups: []channels.Chat{group},
		Answers: map[channels.Chat][]string{group: {"77"}},
	}
	found := musttest.Get(folder.Find(ann))(t)
	var numbers, exported []string
	for _, f := range found {
		number, _, _ := strings.Cut(filepath.Base(f.Path), "-")
		numbers = append(numbers, number)
		for _, l := range f.Lines {
			if strings.Contains(string(l), "of cid") || number != "2" && strings.Contains(string(l), "of bob") {
				t.Errorf("of %s are exported: %s", number, l)
			}
		}
		if len(f.Lines) > 0 {
			exported = append(exported, number)
		}
	}
	slices.Sort(numbers)
	wanttest.EqualSlices(t, "removed are", numbers, []string{"1", "10", "12", "2", "3", "4", "5", "6", "7", "8"})
	slices.Sort(exported)
	wanttest.EqualSlices(t, "exported are", exported, []string{"1", "12", "2", "7", "8"})
	for _, f := range found {
		musttest.Do(t, f.Remove())
	}
	wanttest.Equal(t, "left", len(musttest.Get(os.ReadDir(string(folder)))(t)), 3)
}
