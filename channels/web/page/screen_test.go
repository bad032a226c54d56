package page_test

import (
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/web"
	"nanobot/gateway/display"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/screen"
)

// screenChat is the chat that shows screens.
var screenChat = channels.Chat{Channel: web.Name, ID: "web-a-chat-that-nobody-guesses"}

// drawn is a screen of 160 columns with all that can be coloured.
func drawn(line string) *channels.Screen {
	s := screen.New(160, 24)
	_, _ = s.Write([]byte(strings.ReplaceAll(strings.Join([]string{
		"\n\x1b[31mred\x1b[0m \x1b[94mblue\x1b[0m \x1b[38;5;46mgreen\x1b[0m \x1b[38;2;10;20;30;48;2;200;210;220mrgb\x1b[0m \x1b[7mreverse\x1b[0m " +
			"\x1b[1mbold\x1b[0m \x1b[4munderline\x1b[0m \x1b[3mitalic\x1b[0m \x1b[2mfaint\x1b[0m \x1b[9mstrike\x1b[0m \x1b[8mhidden\x1b[0m|",
		"<script>document.title = 'broken'</script> &amp; <b>no</b>",
		"┌" + strings.Repeat("─", 150) + "┐",
		"│\x1b[33m" + strings.Repeat("日本", 37) + "\x1b[0m  │", "│" + strings.Repeat(" ", 150) + "│", "│\x1b[44m" + strings.Repeat(" ", 150) + "\x1b[0m│",
		"└" + strings.Repeat("─", 150) + "┘",
		line,
	}, "\n"), "\n", "\r\n")))
	return display.Screen(s.Snapshot())
}

func TestAScreenIsShownInColoursOnAPhone(t *testing.T) {
	ch := musttest.Get(web.New(web.Options{
		State: t.TempDir(), Log: zap.NewNop(), Requester: func(*http.Request) (string, bool) { return "ann", true },
		Folder: func(string) (*os.Root, error) { return os.OpenRoot(t.TempDir()) },
	}))(t)
	t.Cleanup(func() { _ = ch.Close() })
	inbox := channelstest.NewRecorder()
	channelstest.Start(t, ch, inbox.Receive)
	_, served := ch.Mount()
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		w.Header().Set("Content-Security-Policy", policy)
		served.ServeHTTP(w, r)
	}))
	t.Cleanup(server.Close)
	t.Cleanup(ch.CloseStreams)
	keys := []channels.Button{{Label: "Up", Data: "/key Up", Stays: true}}
	board := channels.Message{Chat: screenChat, Kind: channels.Progress, Text: "Looking at **it** (15s)", Screen: drawn("$ "), Buttons: append(keys, channels.Button{Label: "Stop", Data: "/stop"})}
	id := channelstest.MustSend(t, ch, board)[0].ID

	p := open(t, server.URL+"/#/c/"+screenChat.ID)
	p.size(390, 800)
	p.awaitText("#now", "Looking at it")
	p.until("document.querySelector('#now .screen')")
	looks := func(where string) {
		t.Helper()
		for text, want := range map[string]string{
			"red": "rgb(223, 95, 95) rgba(0, 0, 0, 0)", "blue": "rgb(117, 117, 255) rgba(0, 0, 0, 0)", "green": "rgb(0, 255, 0) rgba(0, 0, 0, 0)",
			"rgb": "rgb(10, 20, 30) rgb(200, 210, 220)", "reverse": "rgb(17, 17, 17) rgb(221, 221, 221)", "faint": "rgb(139, 139, 139) rgba(0, 0, 0, 0)",
		} {
			got := eval[string](p, fmt.Sprintf(`(() => { const s = getComputedStyle([...document.querySelectorAll('%s span')].find(e => e.textContent === '%s'));
				return s.color + ' ' + s.backgroundColor; })()`, where, text))
			if got != want {
				t.Errorf("%s in %s is %s instead of %s", text, where, got, want)
			}
		}
		for selector, text := range map[string]string{"b": "bold", "u": "underline", "em": "italic", "s": "strike", ".cursor": " "} {
			if got := eval[string](p, "document.querySelector('"+where+" "+selector+"').textContent"); got != text {
				t.Errorf("%s of %s is %q", selector, where, got)
			}
		}
		rows := strings.Split(eval[string](p, "document.querySelector('"+where+"').textContent"), "\n")
		if rows[0] != "" || rows[2] != "<script>document.title = 'broken'</script> &amp; <b>no</b>" || !strings.HasSuffix(rows[1], "strike       |") {
			t.Errorf("the rows of %s are %q", where, rows[:3])
		}
		off := eval[float64](p, fmt.Sprintf(`(() => { const width = (e) => document.querySelector('%s ' + e).getBoundingClientRect().width;
			return Math.abs(width('.cursor') * 148 - width('[data-cols]')); })()`, where))
		if off > 3 { // less than half a column
			t.Errorf("what follows wide characters in %s is %v pixels off", where, off)
		}
		if overflow := eval[int](p, "document.documentElement.scrollWidth - innerWidth"); overflow > 0 {
			t.Errorf("the page is %d pixels wider than the phone", overflow)
		}
		if !eval[bool](p, "(() => { const e = document.querySelector('"+where+"'); return e.scrollWidth > e.clientWidth + 500 && e.ariaLabel === 'Terminal' && e.tabIndex === 0; })()") {
			t.Errorf("%s cannot be scrolled, or has no name", where)
		}
	}
	looks("#now .screen")
	if got := innerText(p, "#live"); strings.Count(got, "15s") != 1 || strings.Contains(got, " s\n") {
		t.Errorf("the elapsed time is not shown once: %q", got)
	}

	p.run("document.querySelector('#now .screen').scrollLeft = 200")
	next := board
	next.Screen = drawn("$ ls")
	plan := channelstest.MustPlan(t, ch, next)
	musttest.Do(t, ch.Edit(t.Context(), id, plan[0]))
	p.awaitText("#now .screen", "$ ls")
	wanttest.Equal(t, "a new screen is scrolled to … instead of 200:", eval[int](p, "document.querySelector('#now .screen').scrollLeft"), 200)
	p.run("document.querySelector('#now .screen').scrollLeft = 0")
	if into := os.Getenv("NANOBOT_SHOTS"); into != "" {
		shoot(p, filepath.Join(into, "screen-phone.png"))
	}

	musttest.Do(t, ch.Remove(t.Context(), screenChat, id))
	channelstest.MustSend(t, ch, channels.Message{Chat: screenChat, Kind: channels.Answer, Text: "The end.", Screen: drawn("$ exit"), Buttons: keys})
	p.awaitText("#log .card", "The end.")
	p.do(reload)
	p.awaitText("#log .screen", "$ exit")
	looks("#log .screen")
	for i := range 3 {
		p.click("#log .choice")
		if _, ok := inbox.Await(func(all []channels.Incoming) bool { return len(all) == i+1 && all[i].Press == "/key Up" }); !ok {
			t.Fatalf("received were %+v", inbox.Messages())
		}
	}
	if into := os.Getenv("NANOBOT_SHOTS"); into != "" {
		p.size(1280, 800)
		shoot(p, filepath.Join(into, "screen-desktop.png"))
	}
}
