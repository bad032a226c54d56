package telegramtest_test

import (
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// albumOf returns the media parameter for items of these types, attached as f0, f1, …, and the
// files.
func albumOf(types ...string) ([]params, []upload) {
	var items []params
	var files []upload
	for i, kind := range types {
		name := fmt.Sprintf("f%d", i)
		items = append(items, params{"type": kind, "media": "attach://" + name})
		files = append(files, upload{name, name + ".png", telegramtest.PNG(8, 6)})
	}
	return items, files
}

func TestAlbumsFollowTheRules(t *testing.T) {
	for _, c := range []struct {
		types, want string
	}{
		{"photo video", ""},
		{"photo photo photo photo photo video video video video video", ""},
		{"document document", ""},
		{"audio audio audio", ""},
		{"photo", "too few"},
		{strings.TrimSpace(strings.Repeat("photo ", 11)), "too many"},
		{"photo document", "can't be mixed"},
		{"audio photo", "can't be mixed"},
		{"document audio", "can't be mixed"},
		{"photo animation", "can't be sent in an album"},
	} {
		t.Run(c.types, func(t *testing.T) {
			s := telegramtest.New(t)
			s.AddUser(telegramtest.User{ID: person})
			items, files := albumOf(strings.Fields(c.types)...)
			items[0]["caption"] = "look"
			r := callMultipart(t, s, "sendMediaGroup", params{"chat_id": person, "media": items}, files...)
			if c.want != "" {
				expectError(t, r, 400, c.want)
				if len(s.TakeViolations()) == 0 || len(s.BotMessages(person)) > 0 {
					t.Error("no violation, or something is shown")
				}
				return
			}
			sent, shown := decodeJSON[[]telegramtest.Message](t, r.Result), s.BotMessages(person)
			if len(sent) != len(items) || len(shown) != len(items) || sent[0].MediaGroupID == "" ||
				sent[0].MediaGroupID != sent[1].MediaGroupID || shown[0].Caption != "look" {
				t.Errorf("sent %+v, shown %+v", sent, shown)
			}
			for i, m := range shown {
				if f, ok := s.File(m.File().FileID); !ok || f.Name != files[i].name || m.Kind() != strings.Fields(c.types)[i] {
					t.Errorf("item %d is %s %q", i, m.Kind(), f.Name)
				}
			}
		})
	}
}

func TestAttachmentsMustBeUniqueAndUsed(t *testing.T) {
	items, files := albumOf("photo", "photo")
	for name, c := range map[string]struct {
		files []upload
		want  string
	}{
		"twice":       {append(files, files[1]), "two parts of the form are named f1"},
		"unused":      {append(files, upload{"f9", "f9.png", []byte("x")}), "the upload f9 is not used"},
		"like a name": {append(files, upload{"chat_id", "c.png", []byte("x")}), "chat_id"},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.AddUser(telegramtest.User{ID: person})
			callMultipart(t, s, "sendMediaGroup", params{"chat_id": person, "media": items}, c.files...)
			if v := s.TakeViolations(); len(v) == 0 || !strings.Contains(strings.Join(v, "; "), c.want) {
				t.Errorf("violations %q", v)
			}
		})
	}
}

func TestPhotosHaveLimits(t *testing.T) {
	wanttest.Equal(t, "the limits are", telegramtest.DefaultLimits, (telegramtest.Limits{Upload: 50 << 20, Photo: 10 << 20, Download: 20 << 20}))
	for name, c := range map[string]struct {
		content []byte
		status  int
		want    string
	}{
		"usual":        {telegramtest.PNG(800, 600), 200, ""},
		"20 to 1":      {telegramtest.PNG(2000, 100), 200, ""},
		"21 to 1":      {telegramtest.PNG(2100, 100), 400, "PHOTO_INVALID_DIMENSIONS"},
		"sides 10000":  {telegramtest.PNG(9500, 500), 200, ""},
		"sides 10001":  {telegramtest.PNG(9501, 500), 400, "PHOTO_INVALID_DIMENSIONS"},
		"no picture":   {[]byte("just text"), 400, "IMAGE_PROCESS_FAILED"},
		"empty":        {nil, 400, "file must be non-empty"},
		"too heavy":    {append(telegramtest.PNG(8, 6), make([]byte, 1<<20)...), 400, "too big for a photo"},
		"over upload":  {make([]byte, 2<<20+1), 413, "Request Entity Too Large"},
		"far too much": {make([]byte, 3<<20), 413, "Request Entity Too Large"},
	} {
		t.Run(name, func(t *testing.T) {
			s := telegramtest.New(t)
			s.AddUser(telegramtest.User{ID: person})
			s.SetLimits(telegramtest.Limits{Upload: 2 << 20, Photo: 1 << 20})
			r := callMultipart(t, s, "sendPhoto", params{"chat_id": person}, upload{"photo", "p.png", c.content})
			if c.status != 200 {
				expectError(t, r, c.status, c.want)
			} else if !r.OK || len(r.message(t).Photo) == 0 {
				t.Errorf("refused: %s", r.Description)
			}
		})
	}
}

func TestCaptionsHaveALimit(t *testing.T) {
	s := telegramtest.New(t)
	s.AddUser(telegramtest.User{ID: person})
	file := upload{"document", "a.txt", []byte("a")}
	if r := callMultipart(t, s, "sendDocument", params{"chat_id": person, "caption": strings.Repeat("a", 1024)}, file); !r.OK {
		t.Error(r.Description)
	}
	expectError(t, callMultipart(t, s, "sendDocument", params{"chat_id": person, "caption": strings.Repeat("a", 1025)}, file), 400, "caption is too long")
	s.TakeViolations()
}

func TestFilesComeBackByID(t *testing.T) {
	s := telegramtest.New(t)
	in := s.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{
		Kind: "document", Name: "große Übersicht.csv", Content: []byte("a;b"),
	}})
	out := callMultipart(t, s, "sendDocument", params{"chat_id": person}, upload{"document", "paper.pdf", []byte("PDF")}).message(t)
	again := mustCall(t, s, "sendDocument", params{"chat_id": person, "document": out.Document.FileID}).message(t)
	if again.Document.FileID != out.Document.FileID || again.Document.FileName != "paper.pdf" {
		t.Errorf("sent again as %+v", again.Document)
	}
	for id, want := range map[string]string{in.Document.FileID: "a;b", out.Document.FileID: "PDF"} {
		f := decodeJSON[struct {
			Path string `json:"file_path"`
		}](t, mustCall(t, s, "getFile", params{"file_id": id}).Result)
		resp := musttest.Get(client(t).Get(s.URL + "/file/bot" + s.Token + "/" + f.Path))(t)
		got, _ := io.ReadAll(resp.Body)
		_ = resp.Body.Close()
		if string(got) != want || strings.Contains(f.Path, "große") {
			t.Errorf("%s holds %q", f.Path, got)
		}
	}
}

func TestALocalServerNamesFilesByAbsolutePath(t *testing.T) {
	s := telegramtest.New(t)
	s.SetLocalServer(t.TempDir())
	in := s.UserPosts(telegramtest.UserPost{Chat: person, Media: &telegramtest.Media{
		Kind: "document", Name: "big.bin", Content: []byte("content"), Size: 100 << 20,
	}})
	f := decodeJSON[struct {
		Path string `json:"file_path"`
	}](t, mustCall(t, s, "getFile", params{"file_id": in.Document.FileID}).Result)
	got, err := os.ReadFile(f.Path)
	if err != nil || !filepath.IsAbs(f.Path) || string(got) != "content" {
		t.Errorf("%q holds %q: %v", f.Path, got, err)
	}
	sent := mustCall(t, s, "sendDocument", params{"chat_id": person, "document": "file://" + f.Path}).message(t)
	if kept, ok := s.File(sent.Document.FileID); !ok || string(kept.Content) != "content" {
		t.Errorf("sent by path: %+v", kept)
	}
}
