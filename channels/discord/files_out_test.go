package discord_test

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"net/http"
	"os"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/bwmarrin/discordgo"

	"nanobot/channels"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func (r *testChannel) writeFiles(n, size int) []channels.File {
	r.t.Helper()
	var out []channels.File
	for i := range n {
		out = append(out, r.WriteFile(fmt.Sprintf("f%02d.bin", i), bytes.Repeat([]byte{byte(i)}, size)))
	}
	return out
}

// filesPerMessage returns the number of files of each message.
func filesPerMessage(shown []discordtest.Message) []int {
	var out []int
	for _, m := range shown {
		out = append(out, len(m.Attachments))
	}
	return out
}

func TestFilesGoOutTenAtATimeWithTheText(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "look", Media: r.writeFiles(23, 100)})
	shown := r.server.BotMessages(r.dm)
	if got := filesPerMessage(shown); !slices.Equal(got, []int{10, 10, 3}) || shown[0].Content != "look" || shown[1].Content != "" {
		t.Errorf("they went out as %v", got)
	}
}

func TestFilesGoOutInMessagesThatEveryChatTakes(t *testing.T) {
	r := newTestChannel(t)
	g := r.server.AddGuild("boosted")
	r.server.SetUploadLimit(g.ID, 50<<20)
	ch := r.server.AddChannel(g.ID, "general").ID
	r.startConnected()
	r.server.UserSends(ch, ada, "<@"+r.server.Bot.ID+"> hello")
	r.WaitForMessages(1)
	files := append(r.writeFiles(4, 4<<20), r.WriteFile("big.bin", make([]byte, 12<<20)), r.WriteFile("small.bin", []byte("x")))
	r.SendAnswer(channels.Message{Chat: chatOf(ch), Text: "look", Media: files})
	wanttest.EqualSlices(t, "they went out as", filesPerMessage(r.server.BotMessages(ch)), []int{2, 2, 1, 1})
}

func TestTheFileLimitIsTheGuilds(t *testing.T) {
	r := newTestChannel(t)
	g, small := r.server.AddGuild("boosted"), r.server.AddGuild("small")
	r.server.SetUploadLimit(g.ID, 50<<20)
	boosted, general := r.server.AddChannel(g.ID, "general").ID, r.server.AddChannel(small.ID, "general").ID
	limits := func(want map[string]int64) {
		t.Helper()
		for chat, most := range want {
			if got, words := r.FileLimit(chatOf(chat), ""); got != most<<20 || words != fmt.Sprintf("Discord accepts files up to %d MB here", most) {
				t.Errorf("%d, %q; want %d MB", got, words, most)
			}
		}
	}
	limits(map[string]int64{boosted: 100, general: 100, r.dm: 100}) // nothing is known of them; Send will find out
	r.startConnected()
	r.server.UserSends(general, ada, "<@"+r.server.Bot.ID+"> hello")
	r.WaitForMessages(1)
	limits(map[string]int64{boosted: 50, general: 10})
}

func TestAFileThatAServerDoesNotTakeIsNamed(t *testing.T) {
	r := newTestChannel(t)
	r.SendAnswer(channels.Message{Text: "look", Media: []channels.File{r.WriteFile("big.bin", make([]byte, 12<<20)), r.WriteFile("small.bin", []byte("x"))}})
	shown := r.server.BotMessages(r.dm)
	if len(shown) != 2 || shown[0].Content != "look\n⚠ \"big.bin\" (12.6 MB) was not sent: Discord accepts files up to 10 MB here." || len(shown[1].Attachments) != 1 {
		t.Errorf("shown is %+v", shown)
	}
	wanttest.Equal(t, "calls were made:", len(r.createCalls()), 2)
}

func TestAFileThatIsLargerThanAnyServerTakesIsNotPlanned(t *testing.T) {
	r := newTestChannel(t)
	plan := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Media: []channels.File{{Path: "/x", Name: "film.mkv", Size: 200 << 20}}})
	if len(plan) != 1 || len(plan[0].Media) != 0 || !strings.Contains(plan[0].Text, `"film.mkv" (209.7 MB) was not sent`) {
		t.Errorf("the plan is %+v", plan)
	}
}

// The limit may be lower than we know, or the file be larger than it was.
func TestARefusalForTheSizeIsToldTheUser(t *testing.T) {
	r := newTestChannel(t)
	r.server.SetUploadLimit("", 1<<20)
	r.SendAnswer(channels.Message{Text: "look", Media: r.writeFiles(1, 2<<20), Buttons: []channels.Button{{Label: "x", Data: "x"}}})
	shown := r.server.BotMessages(r.dm)
	if len(shown) != 1 || shown[0].Content != "look\n⚠ \"f00.bin\" (2.1 MB) was not sent: the upload was larger than Discord accepts here." || len(shown[0].Buttons()) != 1 {
		t.Errorf("shown is %+v", shown)
	}
	r.server.FailNext(discordtest.CreateMessage, discordtest.Fault{Status: 413, Body: "<html>too large</html>"})
	r.SendAnswer(channels.Message{Text: strings.Repeat("x", 2000), Media: r.writeFiles(1, 100)})
	if last := r.server.BotMessages(r.dm)[1]; len(last.Content) > 2010 || !strings.Contains(last.Content, "was not sent") {
		t.Errorf("shown is %+v", last)
	}
}

// Discord would underline the name of a file such as __init__.py.
func TestTheNameOfAFileThatIsNotSentIsNoFormatting(t *testing.T) {
	r := newTestChannel(t)
	gone := r.WriteFile("__init__.py", []byte("a"))
	o := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Text: "look", Media: []channels.File{gone}})[0]
	musttest.Do(t, os.Remove(gone.Path))
	musttest.Get(r.Send(t.Context(), o))(t)
	big := r.WriteFile("__main__.py", make([]byte, 12<<20))
	r.SendAnswer(channels.Message{Media: []channels.File{big}})
	r.server.SetUploadLimit("", 1<<20)
	r.SendAnswer(channels.Message{Media: []channels.File{r.WriteFile("*a*.py", make([]byte, 2<<20))}})
	var shown string
	for _, m := range r.server.BotMessages(r.dm) {
		shown += m.Content + "\n"
	}
	for _, name := range []string{`"\_\_init\_\_.py" was`, `"\_\_main\_\_.py" (`, `"\*a\*.py" (`} {
		if !strings.Contains(shown, name) {
			t.Errorf("%s is not in %s", name, shown)
		}
	}
}

func TestFilesThatMustWaitDoNotKeepOthersWaiting(t *testing.T) {
	r := newTestChannel(t, func(o *discord.Options) {
		o.Client.Transport = roundTrip(func(req *http.Request) (*http.Response, error) {
			if req.Body != nil {
				_, _ = io.Copy(io.Discard, req.Body)
				req.Body.Close()
			}
			h := http.Header{}
			if !strings.Contains(req.URL.Path, "/channels/222/") {
				h.Set("X-RateLimit-Limit", "1")
				h.Set("X-RateLimit-Remaining", "0")
				h.Set("X-RateLimit-Reset-After", "4.9")
			}
			return &http.Response{StatusCode: http.StatusOK, Header: h, Body: io.NopCloser(strings.NewReader(`{"id":"1"}`))}, nil
		})
	})
	ctx, cancel := context.WithCancel(t.Context())
	var waiting sync.WaitGroup
	defer waiting.Wait()
	defer cancel()
	var early atomic.Int32
	for _, chat := range []string{"111", "112", "113", "114"} {
		musttest.Get(r.Send(ctx, r.planTextTo(chat, "x")))(t)
	}
	for _, chat := range []string{"111", "112", "113", "114"} {
		o := r.planTextTo(chat, "y")
		o.Media = []channels.File{r.WriteFile("a.txt", []byte("a"))}
		waiting.Go(func() {
			if _, err := r.Send(ctx, o); err == nil {
				early.Add(1)
			}
		})
	}
	for range 20 { // by one of them the others wait
		o := r.planTextTo("222", "z")
		o.Media = []channels.File{r.WriteFile("b.txt", []byte("b"))}
		musttest.Get(r.Send(ctx, o))(t)
	}
	wanttest.Equal(t, "of those that must wait came first:", early.Load(), 0)
}

// Requests with files are not made by the library because it holds them in memory.
func TestAFileIsStreamedWhileTheLibraryHoldsItInMemory(t *testing.T) {
	const size = 4 << 20
	discard := roundTrip(func(req *http.Request) (*http.Response, error) {
		_, _ = io.Copy(io.Discard, req.Body)
		req.Body.Close()
		return &http.Response{StatusCode: http.StatusOK, Body: io.NopCloser(strings.NewReader(`{"id":"1"}`))}, nil
	})
	r := newTestChannel(t, func(o *discord.Options) { o.Client.Transport = discard })
	o := r.MustPlan(channels.Message{Chat: chatOf(r.dm), Media: r.writeFiles(1, size)})[0]
	ours := allocatedBytes(func() {
		if _, err := r.Send(t.Context(), o); err != nil {
			t.Error(err)
		}
	})
	file := musttest.Get(os.Open(o.Media[0].Path))(t)
	defer file.Close()
	library := allocatedBytes(func() {
		s := &discordgo.Session{Client: &http.Client{Transport: discard}, Ratelimiter: discordgo.NewRatelimiter()}
		if _, err := s.ChannelFileSend(r.dm, "f", file, discordgo.WithContext(t.Context())); err != nil {
			t.Error(err)
		}
	})
	if ours > size/4 {
		t.Errorf("a file of %d bytes costs %d bytes of memory", size, ours)
	}
	if library < size {
		t.Errorf("the library holds only %d of %d bytes: it could send files too", library, size)
	}
}

// allocatedBytes is how many bytes of memory a function takes, be they freed meanwhile or not.
func allocatedBytes(f func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	f()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}
