package acp

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/terminal"
)

func sendBlock(v *view, block string, args ...any) {
	sendUpdate(v, `{"sessionUpdate":"agent_message_chunk","content":`+block+`}`, args...)
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestMediaInAnAnswerIsSentInItsPlace(t *testing.T) {
	turn, r := newTurn(t)
	file := filepath.Join(turn.ExecEnv().Dir, "a report.txt")
	if err := os.WriteFile(file, []byte("numbers"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := newView(turn, nil)
	sendChunk(v, "before", "")
	sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("one"))
	sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("two"))
	sendBlock(v, `{"type":"image","mimeType":"image/jpeg","uri":"file:///x/photo%%201.jpg","data":%q}`, b64("three"))
	sendChunk(v, "between", "")
	sendBlock(v, `{"type":"audio","mimeType":"audio/mpeg","data":%q}`, strings.TrimRight(b64("sound"), "="))
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/../../etc/data.bin","blob":%q}}`, b64("blob"))
	sendBlock(v, `{"type":"resource_link","name":"report","uri":%q}`, fileURI(file))
	sendChunk(v, "see ", "")
	sendBlock(v, `{"type":"resource_link","name":"the [docs]","uri":"https://example.com/a b"}`)
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/notes.md","text":"short"}}`)
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/long.md","text":%q}}`, strings.Repeat("long ", 1000))
	closeView(t, v)
	var got []string
	for _, f := range r.frames {
		if f.Kind == terminal.Message {
			names := []string{}
			for _, m := range f.Media {
				names = append(names, filepath.Base(m))
			}
			got = append(got, f.Text+strings.Join(names, ","))
		}
	}
	want := []string{
		"before", "image.png,image-2.png,photo 1.jpg", "between", "audio.mp3,data.bin,a report.txt",
		"see [the (docs)](https://example.com/a%20b)", "`notes.md`\n```\nshort\n```", "long.md",
	}
	if fmt.Sprintf("%q", got) != fmt.Sprintf("%q", want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	for name, data := range map[string]string{"image.png": "one", "image-2.png": "two", "photo 1.jpg": "three", "audio.mp3": "sound", "data.bin": "blob", "a report.txt": "numbers"} {
		if r.files[name] != data {
			t.Errorf("%s has %q", name, r.files[name])
		}
	}
	for _, path := range r.paths {
		if _, err := os.Stat(path); (path == file) != (err == nil) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Stat(filepath.Dir(path)); path != file && err == nil {
			t.Errorf("the folder of %s stays", path)
		}
	}
}

func TestAPictureIsSentAfterAShortWaitForOthers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		turn, r := newTurn(t)
		v := newView(turn, nil)
		for range 25 {
			sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("x"))
		}
		time.Sleep(albumWindow)
		synctest.Wait()
		var sizes []int
		for _, f := range r.frames {
			sizes = append(sizes, len(f.Media))
		}
		if fmt.Sprint(sizes) != "[10 10 5]" {
			t.Errorf("albums of %v", sizes)
		}
		closeView(t, v)
	})
}

func TestMediaThatCannotBeShownIsNamed(t *testing.T) {
	for name, c := range map[string]struct{ block, want string }{
		"broken": {`{"type":"image","mimeType":"image/png","data":"§§"}`, "⚠ The agent sent a picture that cannot be shown: not valid base64."},
		"empty":  {`{"type":"audio","mimeType":"audio/wav","data":""}`, "⚠ The agent sent a sound that cannot be shown: empty."},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := newTurn(t)
			v := newView(turn, nil)
			v.update(json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":` + c.block + `}`))
			closeView(t, v)
			if got := r.texts(terminal.Message); len(got) != 2 || got[0] != c.want || got[1] != doneText {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		turn, r := newTurn(t)
		v := newView(turn, nil)
		v.messages.showData("image", "big.png", "image/png", strings.Repeat("A", 28<<20))
		closeView(t, v)
		if got := r.texts(terminal.Message)[0]; got != "⚠ The agent sent a picture that cannot be shown: larger than 20 MiB (`big.png`)." {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no room", func(t *testing.T) {
		turn, r := newTurn(t)
		t.Setenv("TMPDIR", filepath.Join(turn.ExecEnv().Dir, "none"))
		v := newView(turn, nil)
		sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("x"))
		closeView(t, v)
		if got := r.texts(terminal.Message); len(got) != 2 || !strings.Contains(got[0], "could not be written") {
			t.Errorf("got %q", got)
		}
	})
}

func TestFileNamesStayWithinTheirFolder(t *testing.T) {
	for uri, want := range map[string]string{
		"": "image.png", "file:///": "image.png", "file:///a/..": "image.png", "/a/%2e%2e%2fb": "b.png", "x/.hidden": "image.hidden",
		"file:///a/b%2Fc.gif": "c.gif", "a\nb": "a_b.png", "https://e.org/p.webp?q=/../x": "p.webp", ".": "image.png",
		"/" + strings.Repeat("ä", 200) + ".png": strings.Repeat("ä", 48) + ".png",
	} {
		if got := safeFileName(fileName(uri), "image", ".png"); got != want {
			t.Errorf("%q becomes %q, not %q", uri, got, want)
		}
	}
}

func TestAFileNameContainsNoSeparators(t *testing.T) {
	if got := safeFileName("../a/b", "image", ".png"); strings.Contains(got, "/") || strings.HasPrefix(got, ".") {
		t.Errorf("got %q", got)
	}
}

func TestAPromptHasTheBlocksThatTheAgentAccepts(t *testing.T) {
	dir := t.TempDir()
	put := func(name, data string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(data), 0o600); err != nil {
			t.Fatal(err)
		}
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
			terminal.Envelope{Text: "buy now", Forwarded: &terminal.Forwarded{Chat: &terminal.Origin{Title: "News"}}},
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
			terminal.Envelope{Text: "hi", ReplyTo: &terminal.Quote{Text: "earlier", User: &terminal.User{Name: "Ann"}, Chat: &terminal.Origin{Title: "News"}}},
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
				checkSchema(t, "ContentBlock", b)
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
			if strings.Join(got, "|") != c.want {
				t.Errorf("got %s", strings.Join(got, "|"))
			}
		})
	}
}
