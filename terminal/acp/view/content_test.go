package view

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
	"nanobot/terminal/acp/acptest"
)

func sendBlock(v *View, block string, args ...any) {
	sendUpdate(v, `{"sessionUpdate":"agent_message_chunk","content":`+block+`}`, args...)
}

func b64(s string) string { return base64.StdEncoding.EncodeToString([]byte(s)) }

func TestMediaInAnAnswerIsSentInItsPlace(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	file := filepath.Join(turn.ExecEnv().Dir, "a report.txt")
	if err := os.WriteFile(file, []byte("numbers"), 0o600); err != nil {
		t.Fatal(err)
	}
	v := New(turn, nil)
	sendChunk(v, "before", "")
	sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("one"))
	sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("two"))
	sendBlock(v, `{"type":"image","mimeType":"image/jpeg","uri":"file:///x/photo%%201.jpg","data":%q}`, b64("three"))
	sendChunk(v, "between", "")
	sendBlock(v, `{"type":"audio","mimeType":"audio/mpeg","data":%q}`, strings.TrimRight(b64("sound"), "="))
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/../../etc/data.bin","blob":%q}}`, b64("blob"))
	sendBlock(v, `{"type":"resource_link","name":"report","uri":%q}`, "file://"+strings.ReplaceAll(file, " ", "%20"))
	sendChunk(v, "see ", "")
	sendBlock(v, `{"type":"resource_link","name":"the [docs]","uri":"https://example.com/a b"}`)
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/notes.md","text":"short"}}`)
	sendBlock(v, `{"type":"resource","resource":{"uri":"file:///x/long.md","text":%q}}`, strings.Repeat("long ", 1000))
	closeView(t, v)
	var got []string
	for _, f := range r.Frames {
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
		if r.Files[name] != data {
			t.Errorf("%s has %q", name, r.Files[name])
		}
	}
	for _, path := range r.Paths {
		if _, err := os.Stat(path); (path == file) != (err == nil) {
			t.Errorf("%s: %v", path, err)
		}
		if _, err := os.Stat(filepath.Dir(path)); path != file && err == nil {
			t.Errorf("the folder of %s stays", path)
		}
	}
}

func TestAPictureIsSentAfterAShortWaitForOthers(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		for range 25 {
			sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("x"))
		}
		time.Sleep(albumWindow)
		synctest.Wait()
		var sizes []int
		for _, f := range r.Frames {
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
			turn, r := acptest.NewTurn(t)
			v := New(turn, nil)
			v.Update(json.RawMessage(`{"sessionUpdate":"agent_message_chunk","content":` + c.block + `}`))
			closeView(t, v)
			if got := r.Texts(terminal.Message); len(got) != 1 || got[0] != c.want {
				t.Errorf("got %q", got)
			}
		})
	}
	t.Run("too large", func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		v := New(turn, nil)
		v.messages.showData("image", "big.png", "image/png", strings.Repeat("A", 28<<20))
		closeView(t, v)
		if got := r.Texts(terminal.Message)[0]; got != "⚠ The agent sent a picture that cannot be shown: larger than 20 MiB (`big.png`)." {
			t.Errorf("got %q", got)
		}
	})
	t.Run("no room", func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		t.Setenv("TMPDIR", filepath.Join(turn.ExecEnv().Dir, "none"))
		v := New(turn, nil)
		sendBlock(v, `{"type":"image","mimeType":"image/png","data":%q}`, b64("x"))
		closeView(t, v)
		if got := r.Texts(terminal.Message); len(got) != 1 || !strings.Contains(got[0], "could not be written") {
			t.Errorf("got %q", got)
		}
	})
}

func TestFileNamesStayWithinTheirFolder(t *testing.T) {
	t.Parallel()
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
	t.Parallel()
	if got := safeFileName("../a/b", "image", ".png"); strings.Contains(got, "/") || strings.HasPrefix(got, ".") {
		t.Errorf("got %q", got)
	}
}
