package telegram_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"golang.org/x/sync/errgroup"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// kindsOf returns the kinds of messages in order, with those of an album in brackets.
func kindsOf(shown []telegramtest.Message) string {
	var b strings.Builder
	last := ""
	for _, m := range shown {
		if m.MediaGroupID != last && last != "" {
			b.WriteString("] ")
		}
		if m.MediaGroupID != last && m.MediaGroupID != "" {
			b.WriteString("[")
		}
		b.WriteString(m.Kind() + " ")
		last = m.MediaGroupID
	}
	if last != "" {
		b.WriteString("]")
	}
	return strings.TrimSpace(b.String())
}

func TestFilesGoOutInTheWayTelegramShowsThem(t *testing.T) {
	opus := append([]byte("OggS\x00\x02xxxxxxxxxxxxxxxxxxxxxx\x01\x13OpusHead"), make([]byte, 100)...)
	vorbis := append([]byte("OggS\x00\x02xxxxxxxxxxxxxxxxxxxxxx\x01\x1e\x01vorbis"), make([]byte, 100)...)
	small := telegramtest.PNG(10, 10)
	for _, c := range []struct {
		name    string
		content []byte
		want    string
	}{
		{"a.png", small, "photo"},
		{"a.JPG", small, "photo"},
		{"wide.png", telegramtest.PNG(2100, 100), "document"},
		{"large.png", telegramtest.PNG(6000, 4001), "document"},
		{"no picture.png", []byte("text"), "document"},
		{"heavy.png", append(telegramtest.PNG(10, 10), make([]byte, 10<<20)...), "document"},
		{"moving.gif", []byte("GIF89a"), "animation"},
		{"a.mp4", []byte("x"), "video"},
		{"a.mov", []byte("x"), "video"},
		{"a.mkv", []byte("x"), "document"},
		{"a.mp3", []byte("x"), "audio"},
		{"a.m4a", []byte("x"), "audio"},
		{"a.flac", []byte("x"), "document"},
		{"opus.ogg", opus, "voice"},
		{"vorbis.ogg", vorbis, "document"},
		{"short.ogg", []byte("x"), "document"},
		{"a.pdf", []byte("x"), "document"},
	} {
		t.Run(c.name, func(t *testing.T) {
			r := newTestChannel(t)
			r.SendAnswer(channels.Message{Text: "*here*", Media: []channels.File{r.WriteFile(c.name, c.content)}})
			shown := r.server.BotMessages(person)
			if kindsOf(shown) != c.want || shown[0].Caption != "here" || len(shown[0].CaptionEntities) != 1 {
				t.Fatalf("shown is %s: %+v", kindsOf(shown), shown)
			}
			if f, _ := r.server.File(shown[0].File().FileID); f.Name != c.name || !bytes.Equal(f.Content, c.content) {
				t.Errorf("the file is %q of %d bytes", f.Name, len(f.Content))
			}
		})
	}
}

func TestAnAlbumIsOneCallWithTheCaptionOnOneItem(t *testing.T) {
	r := newTestChannel(t)
	var files []channels.File
	for i := range 3 {
		files = append(files, r.WriteFile("same name.png", telegramtest.PNG(10+i, 10)))
	}
	files = append(files, r.WriteFile("clip.mp4", []byte("a film")))
	receipts := r.SendAnswer(channels.Message{Text: "**four** of them", Media: files})
	calls := r.server.Calls("")
	if len(calls) != 1 || calls[0].Method != "sendMediaGroup" || len(receipts) != 1 {
		t.Fatalf("the calls are %+v", calls)
	}
	shown := r.server.BotMessages(person)
	if kindsOf(shown) != "[photo photo photo video ]" || receipts[0].ID != fmt.Sprint(shown[0].ID) {
		t.Errorf("shown is %s, receipt %+v", kindsOf(shown), receipts)
	}
	captions := 0
	for i, m := range shown {
		if m.Caption != "" {
			captions++
		}
		if f, _ := r.server.File(m.File().FileID); f.Name != files[i].Name {
			t.Errorf("file %d is called %q", i, f.Name)
		}
	}
	if captions != 1 || shown[0].Caption != "four of them" || len(shown[0].CaptionEntities) != 1 {
		t.Errorf("%d captions: %+v", captions, shown)
	}
}

func TestAlbumsOfAllSortsAreSorted(t *testing.T) {
	r := newTestChannel(t)
	names := []string{"1.png", "song.mp3", "2.png", "moving.gif", "3.mp4", "paper.pdf", "4.mkv"}
	var files []channels.File
	for _, n := range names {
		content := []byte("x")
		if strings.HasSuffix(n, ".png") {
			content = telegramtest.PNG(10, 10)
		}
		files = append(files, r.WriteFile(n, content))
	}
	r.SendAnswer(channels.Message{Text: "all", Media: files})
	shown := r.server.BotMessages(person)
	if got := kindsOf(shown); got != "[photo photo video ] audio animation document document" || shown[0].Caption != "all" {
		t.Errorf("shown is %s", got)
	}
	for _, n := range []int{11, 21} {
		r := newTestChannel(t)
		var many []channels.File
		for range n {
			many = append(many, files[0])
		}
		r.SendAnswer(channels.Message{Media: many})
		if calls := r.server.Calls(""); len(calls) != (n+9)/10 {
			t.Errorf("%d pictures are %d calls", n, len(calls))
		}
	}
}

func TestATextThatIsNoCaptionComesBeforeTheAlbum(t *testing.T) {
	r := newTestChannel(t)
	picture := r.WriteFile("a.png", telegramtest.PNG(10, 10))
	r.SendAnswer(channels.Message{Text: strings.Repeat("😀", 512), Media: []channels.File{picture, picture}})
	r.SendAnswer(channels.Message{Text: strings.Repeat("😀", 500), Media: []channels.File{picture, picture}})
	wanttest.Equal(t, "shown is", kindsOf(r.server.BotMessages(person)), "text [photo photo ] [photo photo ]")
}

// sparseFile returns a file of this size that occupies no disk space.
func (r *testChannel) sparseFile(name string, size int64) channels.File {
	f := channelstest.WriteFile(r.t, name, telegramtest.PNG(10, 10))
	musttest.Do(r.t, os.Truncate(f.Path, size))
	f.Size = size
	return f
}

// asOfficialServer makes a channel treat the server as Telegram's own.
func asOfficialServer(o *telegram.Options) {
	base, err := url.Parse(o.APIBase)
	if err != nil {
		panic(err)
	}
	next := o.Client.Transport
	o.APIBase = ""
	o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
		req = req.Clone(req.Context())
		req.URL.Scheme, req.URL.Host = base.Scheme, base.Host
		return next.RoundTrip(req)
	})
}

func TestALocalServerAcceptsLargeFiles(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetLimits(telegramtest.Limits{Upload: 5 << 20}) // a tenth of Telegram's, for the time of the test
	large := r.sparseFile("large.bin", 6_000_000)
	r.SendAnswer(channels.Message{Text: "first try", Media: []channels.File{large}})
	if m := r.server.WaitForCount(t, person, 1)[0]; m.Text != "first try\n⚠ \"large.bin\" was not sent: Telegram does not accept it." {
		t.Errorf("a server that is not local shows %+v", m)
	}
	r.server.SetLocalServer(t.TempDir())
	r.SendAnswer(channels.Message{Text: "second try", Media: []channels.File{large, r.WriteFile("a.pdf", []byte("x"))}})
	shown := r.server.WaitForCount(t, person, 3)[1:]
	if kindsOf(shown) != "document document" || shown[0].Document.FileSize != large.Size || shown[0].Caption != "second try" {
		t.Errorf("a local server shows %s: %+v", kindsOf(shown), shown)
	}
	plan := r.MustPlan(channels.Message{Chat: chatOf("42"), Media: []channels.File{{Path: "/nowhere", Name: "b.bin", Size: 2001 << 20}}})
	if len(plan) != 1 || !strings.Contains(plan[0].Text, "up to 2000 MB") {
		t.Errorf("the plan is %+v", plan)
	}
}

func TestTheFileLimitIsTelegrams(t *testing.T) {
	for want, r := range map[int64]*testChannel{50: newTestChannel(t, asOfficialServer), 2000: newTestChannel(t)} {
		if most, words := r.FileLimit(chatOf("42"), ""); most != want<<20 || words != fmt.Sprintf("Telegram accepts files up to %d MB", want) {
			t.Errorf("%d, %q; want %d MB", most, words, want)
		}
	}
}

func TestFilesThatAreTooBigAreNamedAndTheRestArrives(t *testing.T) {
	r := newTestChannel(t, asOfficialServer)
	big := channels.File{Path: "/nowhere", Name: "film_of_*my*_life.mkv", Kind: channels.Video, Size: 61_200_000}
	r.SendAnswer(channels.Message{Text: "here", Media: []channels.File{big, r.WriteFile("a.pdf", []byte("x"))}})
	r.SendAnswer(channels.Message{Media: []channels.File{big}})
	shown := r.server.BotMessages(person)
	if kindsOf(shown) != "document text" {
		t.Fatalf("shown is %s", kindsOf(shown))
	}
	for _, m := range shown {
		if !strings.Contains(m.TextOrCaption(), `"film_of_*my*_life.mkv" (61.2 MB) was not sent`) {
			t.Errorf("it says %q", m.TextOrCaption())
		}
	}
}

func TestAlbumsThatAreTooBigForOneRequestAreCut(t *testing.T) {
	r := newTestChannel(t)
	var files []channels.File
	for i := range 7 {
		files = append(files, channels.File{Path: "/nowhere", Name: fmt.Sprintf("%d.mp4", i), Kind: channels.Video, Size: 20 << 20})
	}
	var sizes []int
	for _, o := range r.MustPlan(channels.Message{Chat: chatOf("42"), Media: files}) {
		sizes = append(sizes, len(o.Media))
	}
	if fmt.Sprint(sizes) != "[2 2 2 1]" {
		t.Errorf("the parts have %v files", sizes)
	}
}

func TestFilesAreOpenedAgainOnEachTry(t *testing.T) {
	r := newTestChannel(t)
	f := r.WriteFile("a.pdf", []byte("first"))
	o := r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Answer, Media: []channels.File{f}})[0]
	r.server.FailNext("sendDocument", telegramtest.BadGateway())
	r.MustFailSend(t.Context(), o)
	musttest.Get(r.Send(t.Context(), o))(t)
	m := r.server.BotMessages(person)[0]
	if got, _ := r.server.File(m.File().FileID); string(got.Content) != "first" {
		t.Errorf("it arrived as %q", got.Content)
	}
}

func TestHungUploadsDoNotStopOthersAndHaveABound(t *testing.T) {
	r := newTestChannel(t)
	r.server.AddUser(telegramtest.User{ID: other})
	var mu sync.Mutex
	running, most := 0, 0
	hold := make(chan struct{})
	r.server.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method != "sendDocument" {
			return telegramtest.Fault{}
		}
		mu.Lock()
		running++
		most = max(most, running)
		mu.Unlock()
		<-hold
		mu.Lock()
		running--
		mu.Unlock()
		return telegramtest.Fault{}
	})
	var work errgroup.Group
	upload := func(n int) {
		for range n {
			o := r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Answer, Media: []channels.File{r.WriteFile("a.pdf", []byte("x"))}})[0]
			work.Go(func() error {
				_, err := r.Send(context.Background(), o)
				return err
			})
		}
	}
	upload(15)
	r.server.WaitForCalls(r.t, "sendDocument", func(c []telegramtest.Call) bool { return len(c) == 15 })
	r.SendAnswer(channels.Message{Chat: chatOf("43"), Media: r.writePictures(1)})
	upload(5)
	r.server.WaitForCalls(r.t, "sendDocument", func(c []telegramtest.Call) bool { return len(c) == 16 })
	r.SendAnswer(channels.Message{Text: "text does not wait"})
	close(hold)
	if err := work.Wait(); err != nil || most != 16 {
		t.Errorf("%d uploads ran at once (%v)", most, err)
	}
}

func TestAsManyLargeUploadsAsMayRunCostNoMemory(t *testing.T) {
	const uploads = 16
	var begun sync.WaitGroup
	begun.Add(uploads)
	var wrong atomic.Int32
	r := newTestChannel(t, func(o *telegram.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if strings.HasSuffix(req.URL.Path, "/sendChatAction") {
				return respond(req, 200, `{"ok":true,"result":true}`), nil
			}
			begun.Done()
			begun.Wait() // all of them at the same time
			if got, _ := io.Copy(io.Discard, req.Body); got < 45<<20 || got != req.ContentLength {
				wrong.Add(1)
			}
			return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
		})
	})
	o := r.MustPlan(channels.Message{Chat: chatOf("42"), Media: []channels.File{r.sparseFile("big.bin", 45<<20)}})[0]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	var work errgroup.Group
	for range uploads {
		work.Go(func() error {
			_, err := r.Send(t.Context(), o)
			return err
		})
	}
	if err := work.Wait(); err != nil || wrong.Load() > 0 {
		t.Fatalf("%v, %d are not whole", err, wrong.Load())
	}
	runtime.ReadMemStats(&after)
	if cost := after.TotalAlloc - before.TotalAlloc; cost > uploads<<18 {
		t.Errorf("%d uploads cost %d bytes", uploads, cost)
	}
}

func TestSoundThatMayNotBeAVoiceMessageIsADocument(t *testing.T) {
	r := newTestChannel(t)
	r.server.FailNext("sendVoice", telegramtest.ErrorResponse(400, "Bad Request: VOICE_MESSAGES_FORBIDDEN"))
	r.SendAnswer(channels.Message{Media: []channels.File{r.WriteFile("a.ogg", []byte("OggS OpusHead and more"))}})
	wanttest.Equal(t, "shown is", kindsOf(r.server.BotMessages(person)), "document")
}
