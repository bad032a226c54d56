package acp

import (
	"encoding/base64"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

func TestAPromptHasTheBlocksThatTheAgentAccepts(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	put := func(name, data string) string {
		path := filepath.Join(dir, name)
		musttest.Do(t, os.WriteFile(path, []byte(data), 0o600))
		return path
	}
	png := put("a b.png", "\x89PNG\r\n\x1a\nrest")
	big := put("big.png", "\x89PNG\r\n\x1a\n"+strings.Repeat("x", maxInline))
	mp3 := put("a.mp3", "\xff\xfb\x90\x44\x00\x00\x00\x00")
	text := put("t.txt", "grüße")
	long := put("l.txt", strings.Repeat("x", maxEmbedded+1))
	binary := put("b.bin", "\x00\xff\xfe\x01")
	zeros := put("z.dat", "a\x00b")
	gone := filepath.Join(dir, "gone.txt")
	all := promptCapabilities{Image: true, Audio: true, EmbeddedContext: true}
	for name, c := range map[string]struct {
		e    terminal.Envelope
		caps promptCapabilities
		want string
	}{
		"text":    {terminal.Envelope{Text: "hi"}, all, `text:hi`},
		"nothing": {terminal.Envelope{}, all, `text: `},
		"forwarded": {
			terminal.Envelope{Text: "buy now", Forwarded: &terminal.Forwarded{Chat: &terminal.SourceChat{Title: "News"}}},
			all, "text:Forwarded from News:\nbuy now",
		},
		"forwarded with a comment, in a group": {
			terminal.Envelope{Text: "is this true?\nbuy now", Group: true, User: &terminal.User{ID: "1", Name: "Ann"}, Forwarded: &terminal.Forwarded{
				From: &terminal.User{Name: "Bob\nIgnore"}, Comment: "is this true?",
			}},
			all, "text:Ann: is this true?\nForwarded from Bob Ignore:\nbuy now",
		},
		"in a group":           {terminal.Envelope{Text: "hi", Group: true, User: &terminal.User{ID: "1", Username: "ann"}}, all, "text:ann: hi"},
		"in a private chat":    {terminal.Envelope{Text: "hi", User: &terminal.User{ID: "1", Name: "Ann"}}, all, "text:hi"},
		"a command in a group": {terminal.Envelope{Text: "/plan x", Group: true, User: &terminal.User{ID: "1", Name: "Ann"}}, all, "text:/plan x"},
		"reply to a known person": {
			terminal.Envelope{Text: "hi", ReplyTo: &terminal.Quote{Text: "earlier", User: &terminal.User{Name: "Ann"}, Chat: &terminal.SourceChat{Title: "News"}}},
			all, `text:In reply to Ann in News: earlier|text:hi`,
		},
		"reply":       {terminal.Envelope{Text: "hi", ReplyTo: &terminal.Quote{Text: "earlier"}}, all, `text:In reply to: earlier|text:hi`},
		"reply media": {terminal.Envelope{Text: "hi", ReplyTo: &terminal.Quote{Media: []string{binary}}}, all, `text:hi|link:b.bin`},
		"image":       {terminal.Envelope{Text: "hi", Media: []string{png}}, all, `text:hi|image:image/png|text:(This image is the file ` + png + `)`},
		"no images":   {terminal.Envelope{Media: []string{png}}, promptCapabilities{Audio: true, EmbeddedContext: true}, `link:a b.png`},
		"big image":   {terminal.Envelope{Media: []string{big}}, all, `link:big.png`},
		"audio":       {terminal.Envelope{Media: []string{mp3}}, all, `audio:audio/mpeg|text:(This audio is the file ` + mp3 + `)`},
		"no audio":    {terminal.Envelope{Media: []string{mp3}}, promptCapabilities{Image: true}, `link:a.mp3`},
		"text file":   {terminal.Envelope{Media: []string{text}}, all, `resource:grüße`},
		"long text":   {terminal.Envelope{Media: []string{long}}, all, `link:l.txt`},
		"no context":  {terminal.Envelope{Media: []string{text}}, promptCapabilities{}, `link:t.txt`},
		"binary":      {terminal.Envelope{Media: []string{binary}}, all, `link:b.bin`},
		"zeros":       {terminal.Envelope{Media: []string{zeros}}, all, `link:z.dat`},
		"missing":     {terminal.Envelope{Media: []string{gone, dir}}, all, `link:gone.txt|link:` + filepath.Base(dir)},
	} {
		t.Run(name, func(t *testing.T) {
			var got []string
			for _, b := range promptBlocks(c.e, c.caps) {
				acptest.CheckSchema(t, "ContentBlock", b)
				switch b.Type {
				case "text":
					got = append(got, "text:"+b.Text)
				case "resource":
					got = append(got, "resource:"+*b.Resource.Text)
				case "resource_link":
					if !strings.HasPrefix(b.URI, "file:///") || strings.Contains(b.URI, " ") {
						t.Errorf("URI %s", b.URI)
					}
					got = append(got, "link:"+b.Name)
				default:
					got = append(got, b.Type+":"+b.MimeType)
					data, err := base64.StdEncoding.DecodeString(b.Data)
					if file, _ := os.ReadFile(c.e.Media[0]); err != nil || string(data) != string(file) {
						t.Errorf("data %q, %v", data, err)
					}
				}
			}
			wanttest.Equal(t, "got", strings.Join(got, "|"), c.want)
		})
	}
}
