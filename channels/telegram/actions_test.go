package telegram_test

import (
	"context"
	"sync"
	"testing"

	"nanobot/channels"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func TestWhileAFileIsOnItsWayTheChatShowsWhatSortOfFile(t *testing.T) {
	for name, want := range map[string]string{
		"a.png": "upload_photo", "a.mp4": "upload_video", "a.gif": "upload_video", "a.mp3": "upload_voice", "a.pdf": "upload_document",
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			shown := make(chan struct{})
			show := sync.OnceFunc(func() { close(shown) })
			r.server.SetFault(func(c telegramtest.Call) telegramtest.Fault { // the file has arrived once the action has
				if c.Method == "sendChatAction" {
					show()
					return telegramtest.Fault{}
				}
				return telegramtest.Fault{HangUntil: shown}
			})
			r.SendAnswer(channels.Message{Media: []channels.File{r.sparseFile(name, 2<<20)}})
			if calls := r.server.Calls("sendChatAction"); len(calls) == 0 || calls[0].Params["action"] != want {
				t.Errorf("the actions are %+v", calls)
			}
		})
	}
}

func TestASmallFileIsNotAnnounced(t *testing.T) {
	r := newTestChannel(t)
	musttest.Get(r.Send(context.Background(), r.MustPlan(channels.Message{Chat: chatOf("42"), Media: r.writePictures(2)})[0]))(t)
	if calls := r.server.Calls(""); len(calls) != 1 {
		t.Errorf("the calls are %+v", calls)
	}
}
