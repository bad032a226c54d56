package gateway_test

import (
	"fmt"
	"net/http"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/wanttest"
)

// kindOf returns what a call shows to people; "": nothing that the transcript has.
func (f *busyForum) kindOf(c telegramtest.Call) string {
	text := c.Params["text"]
	f.mu.Lock()
	_, isAnswer := f.emitted[text]
	f.mu.Unlock()
	switch {
	case strings.HasPrefix(c.Method, "deleteMessage"):
		return "removed board"
	case c.Method == "editMessageText" && strings.Contains(text, " steps"):
		return "fold"
	case c.Method == "editMessageText":
		return "edit of a board"
	case c.Method != "sendMessage":
		return ""
	case isAnswer:
		return "answer"
	case strings.Contains(text, "board of step"):
		return "board"
	case c.Params["disable_notification"] == "true":
		return "silent"
	}
	return "notice"
}

// countDeleted returns how many messages a call has removed; 0 if it is another call.
func countDeleted(c telegramtest.Call) int {
	var ids []int
	switch {
	case c.Method == "deleteMessage":
		return 1
	case c.Method == "deleteMessages" && c.DecodeParam("message_ids", &ids) == nil:
		return len(ids)
	}
	return 0
}

// transcript lists the calls since a moment by time and kind. Which of several topics goes first is
// not fixed, so the topics have no names; the removals are one row at the time of the last.
func (f *busyForum) transcript(since time.Time) string {
	type row struct {
		after float64
		kind  string
		n     int
	}
	var rows []row
	removed := row{kind: "removed board"}
	for _, c := range f.api.Calls("") {
		after := c.At.Sub(since).Seconds()
		kind := f.kindOf(c)
		switch {
		case kind == "" || after < -60:
		case countDeleted(c) > 0:
			removed.after, removed.n = after, removed.n+countDeleted(c)
		default:
			if i := len(rows) - 1; i >= 0 && rows[i].kind == kind && rows[i].after == after {
				rows[i].n++
			} else {
				rows = append(rows, row{after, kind, 1})
			}
		}
	}
	rows = append(rows, removed)
	slices.SortStableFunc(rows, func(a, b row) int { return int((a.after - b.after) * 1000) })
	out := "| second | what | how many |\n| ---: | --- | ---: |\n"
	for _, r := range rows {
		out += fmt.Sprintf("| %.2f | %s | %d |\n", r.after, r.kind, r.n)
	}
	return out
}

const exampleGroup = "# A Telegram group with topics\n\nThis page shows when messages reach a busy Telegram group, which takes 20 in a minute. The times are those of a test server with\nTelegram's limits; the gateway and the channel are real. `TestTheExampleOfABusyGroup` writes this page.\n\n" +
	"## Five agents end and a question is asked\n\nFive agents with a board each end at second 0. At the same moment a question is asked in a sixth topic, and a seventh gets a\nsilent message. The answers go first; a board that would have to wait for them is removed. A minute later one agent has a\nshort task, and its board is folded.\n\n%s\n" +
	"## A message that the server fails to take\n\nThe server answers every try of one message with a status of 500, and takes the others. After three minutes the message is\nset aside, and those after it are sent. The button, which is pressed after five minutes, sends it\nagain. These are the messages of its topic.\n\n%s"

func TestTheExampleOfABusyGroup(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	wanttest.File(t, filepath.Join("..", "docs", "example-group.md"), fmt.Sprintf(exampleGroup, busyScene(t), setAsideScene(t)), *update)
}

func busyScene(t *testing.T) (transcript string) {
	runBusyForum(t, 7, func(f *busyForum) {
		f.noRemarks = true
		for i := range 5 {
			f.say(i, "20")
		}
		time.Sleep(40 * time.Second)
		asked := time.Now()
		f.say(5, "0")
		time.Sleep(500 * time.Millisecond)
		f.say(6, "remark")
		f.awaitAnswers(6)
		time.Sleep(time.Until(asked.Add(time.Minute)))
		f.say(0, "1")
		f.awaitAnswers(7)
		time.Sleep(time.Minute)
		transcript = f.transcript(asked)
	})
	return transcript
}

func setAsideScene(t *testing.T) (transcript string) {
	runBusyForum(t, 2, func(f *busyForum) {
		var works atomic.Bool
		f.faulty = true
		f.api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
			if strings.HasSuffix(c.Params["text"], "answer 1") && !works.Load() {
				return telegramtest.ErrorResponse(http.StatusInternalServerError, "Internal Server Error")
			}
			return telegramtest.Fault{}
		})
		asked := time.Now()
		f.say(0, "0")
		time.Sleep(time.Second)
		f.say(0, "0")
		for range 30 {
			time.Sleep(10 * time.Second)
			f.say(1, "0")
		}
		works.Store(true)
		for _, m := range f.api.BotMessages(busyGroup) {
			if buttons := m.Buttons(); len(buttons) > 0 {
				f.api.UserPresses(busyGroup, 7, m.ID, buttons[0].Data)
			}
		}
		time.Sleep(time.Minute)
		transcript = "| minute | message |\n| ---: | --- |\n"
		for _, c := range f.api.Calls("sendMessage") {
			if c.IntParam("message_thread_id") != int64(f.topics[0]) || len(c.Messages) == 0 {
				continue
			}
			text := c.Params["text"]
			var keyboard struct {
				Rows [][]struct{ Text string } `json:"inline_keyboard"`
			}
			_ = c.DecodeParam("reply_markup", &keyboard) // most messages have none
			for _, button := range slices.Concat(keyboard.Rows...) {
				text += " [" + button.Text + "]"
			}
			transcript += fmt.Sprintf("| %d | %s |\n", int(c.At.Sub(asked).Minutes()), text)
		}
	})
	return transcript
}
