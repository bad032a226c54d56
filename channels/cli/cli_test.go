package cli_test

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/cli"
)

var chat = channels.Chat{Channel: "cli", ID: "local"}

func TestTheTerminalKeepsTheContract(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		out := &outputBuffer{}
		in, typed := pipe(t)
		ch := cli.New(cli.Options{
			ChatID: chat.ID, User: channels.User{ID: "me"}, In: cli.NewPiped(in), Printer: cli.JSONPrinter{Out: out},
		})
		return channelstest.Subject{
			Channel:     ch,
			Chat:        chat,
			ShowsPaths:  true,
			ForPrograms: true,
			Sent:        func() []channelstest.SentCall { return parseSent(t, out.String()) },
			UserSends:   func(text string) { fmt.Fprintln(typed, text) },
		}
	})
}

// outputBuffer collects the printed text.
type outputBuffer struct {
	mu sync.Mutex
	b  bytes.Buffer
}

func (p *outputBuffer) Write(b []byte) (int, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.Write(b)
}

func (p *outputBuffer) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.b.String()
}

func pipe(t *testing.T) (r, w *os.File) {
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { w.Close(); r.Close() })
	return r, w
}

// parseSent parses the output of the JSON printer.
func parseSent(t *testing.T, lines string) []channelstest.SentCall {
	var out []channelstest.SentCall
	for line := range strings.Lines(lines) {
		var m struct {
			Text  string
			Media []string
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil {
			t.Errorf("%v in line %q", err, line)
		}
		s := channelstest.SentCall{Text: m.Text}
		for _, path := range m.Media {
			s.Files = append(s.Files, channelstest.SentFile{Name: filepath.Base(path)})
		}
		out = append(out, s)
	}
	return out
}

// scriptedInput is an Input with given messages.
type scriptedInput []string

func (s *scriptedInput) Read(context.Context) (string, error) {
	if len(*s) == 0 {
		return "", io.EOF
	}
	text := (*s)[0]
	*s = (*s)[1:]
	return text, nil
}

// runChannel runs a channel until the input ends and returns the received messages.
func runChannel(t *testing.T, in cli.Input) []channels.Incoming {
	t.Helper()
	var got []channels.Incoming
	ch := cli.New(cli.Options{ChatID: chat.ID, User: channels.User{ID: "me", Name: "Me"}, In: in})
	err := ch.Run(t.Context(), func(_ context.Context, m channels.Incoming) error {
		got = append(got, m)
		return nil
	})
	if err != nil {
		t.Fatalf("Run: %v", err)
	}
	return got
}

func TestRunEndsWhenTheUserLeaves(t *testing.T) {
	got := runChannel(t, &scriptedInput{"hello", "bye"})
	if len(got) != 2 || got[0].Text != "hello" || got[1].Text != "bye" {
		t.Errorf("received %+v", got)
	}
}

func TestRunSkipsBlankMessages(t *testing.T) {
	got := runChannel(t, &scriptedInput{"", "one", "  \t", "two", "\n"})
	if len(got) != 2 || got[0].Text != "one" || got[1].Text != "two" {
		t.Errorf("received %+v", got)
	}
}

func TestAMessageNamesTheLocalChatAndUser(t *testing.T) {
	got := runChannel(t, &scriptedInput{"hello"})
	if len(got) != 1 || got[0].Chat != chat || got[0].User != (channels.User{ID: "me", Name: "Me"}) {
		t.Errorf("received %+v", got)
	}
}

func TestRunReturnsTheErrorOfReceive(t *testing.T) {
	full := errors.New("disk full")
	ch := cli.New(cli.Options{In: &scriptedInput{"one", "two"}})
	calls := 0
	err := ch.Run(t.Context(), func(context.Context, channels.Incoming) error {
		calls++
		return full
	})
	if !errors.Is(err, full) || calls != 1 {
		t.Errorf("got %v after %d calls", err, calls)
	}
}

func TestRunReturnsAnErrorOfTheInput(t *testing.T) {
	ch := cli.New(cli.Options{In: cli.NewPiped(io.MultiReader(strings.NewReader("one\n"), broken{}))})
	var got []string
	err := ch.Run(t.Context(), func(_ context.Context, m channels.Incoming) error {
		got = append(got, m.Text)
		return nil
	})
	if !errors.Is(err, errBroken) || !slices.Equal(got, []string{"one"}) {
		t.Errorf("got %v after %q", err, got)
	}
}

func TestAChannelThatOnlyShowsRunsUntilItsContextEnds(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		done := make(chan error, 1)
		go func() { done <- cli.New(cli.Options{}).Run(ctx, nil) }()
		synctest.Wait()
		select {
		case err := <-done:
			t.Fatalf("returned %v before its context ended", err)
		default:
		}
		cancel()
		if err := <-done; err != nil {
			t.Error(err)
		}
	})
}

func TestSendReportsThatThePrinterCannotWrite(t *testing.T) {
	ch := cli.New(cli.Options{Printer: cli.TextPrinter{Out: broken{}, Progress: broken{}}})
	_, err := ch.Send(t.Context(), channels.Outgoing{Kind: channels.Answer, Text: "hello"})
	var refused *channels.SendError
	if !errors.As(err, &refused) || !refused.Permanent || !errors.Is(err, errBroken) {
		t.Errorf("got %v", err)
	}
}

var errBroken = errors.New("broken pipe")

// broken fails on every read and write.
type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, errBroken }
func (broken) Write([]byte) (int, error) { return 0, errBroken }
