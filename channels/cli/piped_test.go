package cli_test

import (
	"context"
	"errors"
	"io"
	"strings"
	"testing"
	"testing/iotest"

	"nanobot/channels/cli"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestPipedInputIsOneMessageALine(t *testing.T) {
	long := strings.Repeat("0123456789", 500_000)
	for name, c := range map[string]struct {
		in   string
		want []string
	}{
		"nothing":                       {"", nil},
		"lines":                         {"one\ntwo\n", []string{"one", "two"}},
		"lines from Windows":            {"one\r\ntwo\r\n", []string{"one", "two"}},
		"a last line without a newline": {"one\ntwo", []string{"one", "two"}},
		"blank lines":                   {"\none\n\n", []string{"", "one", ""}},
		"spaces stay":                   {"  one \n", []string{"  one "}},
		"a carriage return inside":      {"a\rb\n", []string{"a\rb"}},
		"a very long line":              {long + "\nnext\n", []string{long, "next"}},
	} {
		t.Run(name, func(t *testing.T) {
			for _, r := range []io.Reader{strings.NewReader(c.in), iotest.DataErrReader(strings.NewReader(c.in))} {
				var got []string
				p := cli.NewPiped(r)
				for {
					text, err := p.Read(t.Context())
					if errors.Is(err, io.EOF) {
						break
					}
					if err != nil {
						t.Fatal(err)
					}
					got = append(got, text)
				}
				if _, err := p.Read(t.Context()); !errors.Is(err, io.EOF) {
					t.Errorf("behind the end: %v", err)
				}
				wanttest.EqualSlices(t, "got", got, c.want)
			}
		})
	}
}

func TestPipedBlankLinesAreNoMessages(t *testing.T) {
	var got []string
	for _, m := range runChannel(t, cli.NewPiped(strings.NewReader("\n one\n\r\n\t\ntwo\n\n"))) {
		got = append(got, m.Text)
	}
	wanttest.EqualSlices(t, "got", got, []string{" one", "two"})
}

func TestWaitingForPipedInputEndsWithTheContextAndLosesNothing(t *testing.T) {
	r, w := pipe(t)
	p := cli.NewPiped(r)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if text, err := p.Read(ctx); !errors.Is(err, context.Canceled) {
		t.Fatalf("got %q, %v", text, err)
	}
	musttest.Get(io.WriteString(w, "late\n"))(t)
	if text, err := p.Read(t.Context()); text != "late" || err != nil {
		t.Errorf("got %q, %v", text, err)
	}
}
