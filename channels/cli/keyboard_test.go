package cli_test

import (
	"context"
	"errors"
	"io"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"nanobot/channels/cli"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

const (
	enter      = "\r"
	backspace  = "\x7f"
	left       = "\x1b[D"
	right      = "\x1b[C"
	up         = "\x1b[A"
	down       = "\x1b[B"
	home       = "\x1b[H"
	remove     = "\x1b[3~"
	ctrlC      = "\x03"
	ctrlD      = "\x04"
	ctrlU      = "\x15"
	pasteBegin = "\x1b[200~"
	pasteEnd   = "\x1b[201~"
)

func TestKeysMakeAMessage(t *testing.T) {
	for name, c := range map[string]struct{ keys, want string }{
		"typing":                              {"hello" + enter, "hello"},
		"other scripts and emoji":             {"größer 日本 👍🏽" + enter, "größer 日本 👍🏽"},
		"backspace":                           {"helloo" + backspace + enter, "hello"},
		"arrows":                              {"hllo" + left + left + left + "e" + right + enter, "hello"},
		"home and delete":                     {"xhello" + home + remove + enter, "hello"},
		"starting over":                       {"no" + ctrlU + "yes" + enter, "yes"},
		"Ctrl-D within text deletes":          {"hello!" + left + ctrlD + enter, "hello"},
		"nothing":                             {enter, ""},
		"a paste of one line":                 {pasteBegin + "hello" + pasteEnd + enter, "hello"},
		"a paste of lines":                    {pasteBegin + "one\rtwo\r\rthree" + pasteEnd + enter, "one\ntwo\n\nthree"},
		"a paste of lines from a file":        {pasteBegin + "one\ntwo" + pasteEnd + enter, "one\ntwo"},
		"a paste that ends in a newline":      {pasteBegin + "one\rtwo\r" + pasteEnd + enter, "one\ntwo"},
		"a paste keeps indentation":           {pasteBegin + "if x:\r\treturn" + pasteEnd + enter, "if x:\n\treturn"},
		"a paste after some typing":           {"explain: " + pasteBegin + "one\rtwo" + pasteEnd + enter, "explain: one\ntwo"},
		"typing after a paste":                {pasteBegin + "one\rtwo" + pasteEnd + " more" + enter, "one\ntwo more"},
		"two pastes":                          {pasteBegin + "a\rb" + pasteEnd + pasteBegin + "c\rd" + pasteEnd + enter, "a\nbc\nd"},
		"control keys in a paste do not obey": {pasteBegin + "a" + ctrlD + "b" + pasteEnd + enter, "a" + ctrlD + "b"},
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestTerminal(t)
			if got := s.read(s.keyboard(nil), c.keys); got.text != c.want || got.err != nil {
				t.Errorf("got %q, %v; want %q", got.text, got.err, c.want)
			}
		})
	}
}

func TestALongPasteIsWhole(t *testing.T) {
	s := newTestTerminal(t)
	var want []string
	for range 200 {
		want = append(want, strings.Repeat("0123456789", 7))
	}
	got := s.read(s.keyboard(nil), pasteBegin+strings.Join(want, "\r")+pasteEnd+enter)
	if got.text != strings.Join(want, "\n") || got.err != nil {
		t.Errorf("got %d bytes, %v; want %d", len(got.text), got.err, len(strings.Join(want, "\n")))
	}
}

func TestMessagesAreReadOneByOne(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	for _, want := range []string{"one", "two", "three"} {
		if got := s.read(k, want+enter); got.text != want || got.err != nil {
			t.Errorf("got %q, %v; want %q", got.text, got.err, want)
		}
	}
}

func TestKeysTypedAheadAreTheNextMessage(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	if got := s.read(k, "one"+enter+"two"+enter); got.text != "one" {
		t.Errorf("got %q, %v", got.text, got.err)
	}
	if got := s.read(k, ""); got.text != "two" {
		t.Errorf("got %q, %v", got.text, got.err)
	}
}

func TestTheArrowUpBringsBackEarlierMessages(t *testing.T) {
	s := newTestTerminal(t)
	path := filepath.Join(t.TempDir(), "history")
	cli.OpenHistory(path).Add("from last time")
	k := s.keyboard(cli.OpenHistory(path))
	for _, c := range []struct{ keys, want string }{
		{"new" + enter, "new"},
		{up + enter, "new"},
		{up + up + enter, "from last time"},
		{up + up + down + "!" + enter, "from last time!"},
	} {
		if got := s.read(k, c.keys); got.text != c.want || got.err != nil {
			t.Errorf("%q gives %q, %v; want %q", c.keys, got.text, got.err, c.want)
		}
	}
	wanttest.Equal(t, "the newest line on disk is", cli.OpenHistory(path).At(0), "from last time!")
}

func TestCtrlCAndCtrlDEndTheInput(t *testing.T) {
	for name, keys := range map[string]string{
		"Ctrl-C": ctrlC, "Ctrl-D": ctrlD, "Ctrl-C after some text": "half a mess" + ctrlC,
	} {
		t.Run(name, func(t *testing.T) {
			s := newTestTerminal(t)
			if got := s.read(s.keyboard(nil), keys); got.text != "" || !errors.Is(got.err, io.EOF) {
				t.Errorf("got %q, %v", got.text, got.err)
			}
		})
	}
}

func TestAfterCtrlCTheNextMessageCanBeTyped(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	for range 2 {
		if got := s.read(k, "half a mess"+ctrlC); !errors.Is(got.err, cli.ErrInterrupted) {
			t.Errorf("got %q, %v", got.text, got.err)
		}
		s.await("^C\r\n")
		if got := s.read(k, "hello"+enter); got.text != "hello" || got.err != nil {
			t.Errorf("got %q, %v", got.text, got.err)
		}
	}
	if got := s.read(k, ctrlD); errors.Is(got.err, cli.ErrInterrupted) || !errors.Is(got.err, io.EOF) {
		t.Errorf("Ctrl-D gives %v", got.err)
	}
}

func TestTheTerminalIsRawOnlyWhileAMessageIsRead(t *testing.T) {
	for name, keys := range map[string]string{"a message": "hello" + enter, "Ctrl-C": ctrlC, "Ctrl-D": ctrlD} {
		t.Run(name, func(t *testing.T) {
			s := newTestTerminal(t)
			cooked := s.mode()
			done := s.startRead(t.Context(), s.keyboard(nil))
			if reflect.DeepEqual(s.mode(), cooked) {
				t.Error("the terminal is not raw at the prompt")
			}
			s.press(keys)
			s.awaitRead(done)
			if !reflect.DeepEqual(s.mode(), cooked) {
				t.Error("the terminal stays raw")
			}
			s.await("\x1b[?2004l") // pastes are no longer marked
		})
	}
}

func TestReadEndsAtOnceWithItsContextAndRestoresTheTerminal(t *testing.T) {
	s := newTestTerminal(t)
	cooked := s.mode()
	ctx, cancel := context.WithCancel(t.Context())
	done := s.startRead(ctx, s.keyboard(nil))
	s.press("half a mess")
	cancel()
	if got := s.awaitRead(done); !errors.Is(got.err, context.Canceled) {
		t.Errorf("got %q, %v", got.text, got.err)
	}
	if !reflect.DeepEqual(s.mode(), cooked) {
		t.Error("the terminal stays raw")
	}
	s.await("\x1b[?2004l")
}

func TestALineTypedAtACancelledPromptIsTheNextMessage(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	ctx, cancel := context.WithCancel(t.Context())
	done := s.startRead(ctx, k)
	cancel()
	s.awaitRead(done)
	again := make(chan readResult, 1)
	go func() {
		text, err := k.Read(t.Context())
		again <- readResult{text, err}
	}()
	s.await("\x1b[?2004h")
	s.press("not lost\r")
	if got := s.awaitRead(again); got.text != "not lost" || got.err != nil {
		t.Errorf("got %q, %v", got.text, got.err)
	}
}

func TestAKeyboardNeedsATerminal(t *testing.T) {
	r, w := pipe(t)
	if text, err := cli.NewKeyboard(r, w, prompt, nil).Read(t.Context()); err == nil {
		t.Errorf("read %q from a pipe", text)
	}
}

func TestOutputIsPrintedAboveTheLineBeingTyped(t *testing.T) {
	s := newTestTerminal(t)
	k := s.keyboard(nil)
	done := s.startRead(t.Context(), k)
	s.press("half")
	s.await("half")
	musttest.Get(k.Write([]byte("one\ntwo\n")))(t)
	s.await("one\r\ntwo\r\n")
	s.await(prompt + "half")
	s.press(" and half" + enter)
	if got := s.awaitRead(done); got.text != "half and half" || got.err != nil {
		t.Errorf("got %q, %v", got.text, got.err)
	}
	musttest.Get(k.Write([]byte("three\n")))(t)
	s.await("three\r\n") // by the terminal itself
}
