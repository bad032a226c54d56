package web_test

import (
	"bytes"
	"fmt"
	"image"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/channels/web"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestAPersonChoosesANameThatTheirMessagesCarry(t *testing.T) {
	onBothEngines(t, func(t *testing.T, r *fixture) {
		name := func(user string) string {
			var me struct{ User, Name string }
			r.getJSON(user, "/api/me", &me)
			wanttest.Equal(t, "user", me.User, user)
			return me.Name
		}
		set := func(want int, user, name string) {
			t.Helper()
			wanttest.Equal(t, user+" becomes "+name, r.status(user, "PATCH", "/api/me", `{"name": "`+name+`"}`), want)
		}
		r.startGateway()
		wanttest.Equal(t, "name before", name("ann"), "")
		r.postText("ann", annsChat, "first")
		r.postText("bob", otherChat, "his")
		set(200, "ann", ` Ann\t Öst\n `)
		set(409, "bob", "ann öst")
		set(409, "bob", "ANN") // whom others know by her ID
		set(200, "ann", "Ann")
		set(200, "ann", "Ann Öst")
		for _, alike := range []string{`Ann\u200b Öst`, `ANN O\u0308ST`, `Ａnn Öst`, `Ann\u00ad\u034f Öst\ufe0f`, `Ann Öst\u001b`, "Operator"} {
			set(409, "bob", alike)
		}
		set(200, "bob", `\u200b\u0007`) // nothing that can be seen
		wanttest.Equal(t, "his name", name("bob"), "")
		set(400, "ann", `"`)
		set(200, "bob", strings.Repeat("b", 100)+`\u202e`)
		wanttest.Equal(t, "length of his name", len([]rune(name("bob"))), 60)
		r.postText("ann", annsChat, "second")
		r.restart()
		r.startGateway()
		wanttest.Equal(t, "name after a restart", name("ann"), "Ann Öst")
		set(200, "ann", "")
		r.postText("ann", annsChat, "third")
		r.awaitIncoming(4)
		set(200, "ann", "Ann")
		wanttest.Equal(t, "deletion", r.status("ann", "DELETE", "/api/chats/"+annsChat, ""), 204)
		var got []string
		for _, in := range r.awaitIncoming(5) {
			if in.User.ID == "ann" {
				got = append(got, in.Text+string(in.Change)+" by "+in.User.Name)
			}
		}
		wanttest.Equal(t, "messages", strings.Join(got, ", "),
			"first by ann, second by Ann Öst, third by ann, chat-deleted by Ann")
		set(200, "bob", "Eve") // of whom nothing is known
		r.postText("Eve", "web-e-known-to-nobody-else", "hello")
		wanttest.Equal(t, "his name", name("bob"), "")
		set(409, "bob", "EVE")
	})
}

func TestThePageShowsTheNameAndThePictureOfTheBot(t *testing.T) {
	dir := t.TempDir()
	picture := filepath.Join(dir, "ada.png")
	var drawn bytes.Buffer
	musttest.Do(t, png.Encode(&drawn, image.NewGray(image.Rect(0, 0, 4, 2))))
	musttest.Do(t, os.WriteFile(picture, drawn.Bytes(), 0o600))
	s := web.NewSettings()
	s.Name, s.Picture = "Ada & <b>", "ada.png"
	s.ResolvePaths(func(p string) string { return filepath.Join(dir, p) })
	wanttest.Equal(t, "warnings", len(s.Warnings(config.Scope{})), 0)
	r := newFixture(t)
	r.name, r.picture = s.Name, s.Picture
	r.restart()
	_, document, _ := r.request("ann", "GET", "/", "", nil)
	for _, want := range []string{"<title>Ada &amp; &lt;b&gt;</title>", `<link rel="icon" href="picture">`, `<img src="picture"`} {
		if !strings.Contains(document, want) {
			t.Errorf("no %s in the page", want)
		}
	}
	status, content, header := r.request("ann", "GET", "/picture", "", nil)
	if status != 200 || header.Get("Content-Type") != "image/png" || content != string(musttest.Get(os.ReadFile(picture))(t)) {
		t.Errorf("the picture is %d, %s, %d bytes", status, header.Get("Content-Type"), len(content))
	}
	_, manifest, _ := r.request("ann", "GET", "/manifest.webmanifest", "", nil)
	for name, size := range map[string]int{"icon-192.png": 192, "icon-512.png": 512} {
		_, content, header := r.request("ann", "GET", "/"+name, "", nil)
		icon, err := png.Decode(strings.NewReader(content))
		if err != nil || icon.Bounds() != image.Rect(0, 0, size, size) || header.Get("Content-Type") != "image/png" {
			t.Fatalf("%s is %v, %v", name, icon, err)
		}
		_, _, _, above := icon.At(size/2, size/8).RGBA()
		_, _, _, middle := icon.At(size/2, size/2).RGBA()
		if above != 0 || middle != 0xffff {
			t.Errorf("%s does not have the whole picture in its middle: the alphas are %d and %d", name, above, middle)
		}
		if want := fmt.Sprintf(`"purpose":"any","sizes":"%[2]dx%[2]d","src":"%[1]s"`, name, size); !strings.Contains(manifest, want) {
			t.Errorf("no %s in %s", want, manifest)
		}
	}
	musttest.Do(t, os.WriteFile(picture, []byte("<svg/>"), 0o600))
	wanttest.Equal(t, "warnings", strings.Join(s.Warnings(config.Scope{}), ""),
		".picture: "+picture+" is not a PNG, JPEG, WebP or GIF picture; the page shows that of nanobot")
	r.restart()
	if _, document, _ := r.request("ann", "GET", "/", "", nil); !strings.Contains(document, `<img src="icon.svg"`) {
		t.Error("the page does not show nanobot's picture")
	}
}
