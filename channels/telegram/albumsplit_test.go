package telegram_test

import (
	"context"
	"fmt"
	"net/http"
	"os"
	"path"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// writePictures writes pictures, called 0.png and so on.
func (r *testChannel) writePictures(n int) []channels.File {
	r.t.Helper()
	var files []channels.File
	for i := range n {
		files = append(files, channelstest.WriteFile(r.t, itoa(i)+".png", telegramtest.PNG(10+i, 10)))
	}
	return files
}

func TestAnAlbumGoesOutWithoutAFileThatIsGone(t *testing.T) {
	for _, c := range []struct {
		files      int
		text, want string
	}{
		{4, "look", "[photo photo photo ]"},
		{2, "look", "photo"},
		{3, strings.Repeat("x", 1020), "[photo photo ] text"}, // the caption has no room
	} {
		r := newTestChannel(t)
		files := r.writePictures(c.files)
		musttest.Do(t, os.Remove(files[1].Path))
		r.SendAnswer(channels.Message{Text: c.text, Media: files})
		shown := r.server.BotMessages(person)
		said := shown[0].Caption + "\n" + shown[len(shown)-1].Text
		if got := kindsOf(shown); got != c.want || !strings.HasPrefix(said, c.text) || strings.Count(said, `⚠ "1.png" was not sent`) != 1 {
			t.Errorf("shown is %s and says %q", got, said)
		}
	}
}

func TestAPictureThatIsNoPhotoLeavesTheAlbumAndGoesAsADocument(t *testing.T) {
	for name, content := range map[string][]byte{"impossible": telegramtest.PNG(2100, 100), "broken": []byte("text")} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.SendAnswer(channels.Message{Text: "look", Media: []channels.File{
				r.WriteFile("a.png", telegramtest.PNG(10, 10)), r.WriteFile("b.png", content), r.WriteFile("c.mp4", []byte("x")),
			}})
			shown := r.server.BotMessages(person)
			if got := kindsOf(shown); got != "[photo video ] document" || shown[0].Caption != "look" {
				t.Errorf("shown is %s", got)
			}
		})
	}
}

func TestAnAlbumThatIsRefusedGoesOutInSingleFilesAndWhatIsRefusedIsNamed(t *testing.T) {
	for name, c := range map[string]struct {
		album, single []telegramtest.Fault
		want          string
		refused       string
	}{
		"which one is not said": {album: []telegramtest.Fault{telegramtest.ErrorResponse(400, "Bad Request: MEDIA_EMPTY")}, want: "photo photo photo"},
		"too large":             {album: []telegramtest.Fault{telegramtest.ErrorResponse(413, "Request Entity Too Large")}, want: "photo photo photo"},
		"one is refused alone as well": {
			album:  []telegramtest.Fault{telegramtest.ErrorResponse(400, "Bad Request: MEDIA_EMPTY")},
			single: []telegramtest.Fault{telegramtest.ErrorResponse(400, "Bad Request: MEDIA_EMPTY")}, want: "photo photo text", refused: "0.png",
		},
		"which one is said": {
			album:  []telegramtest.Fault{telegramtest.ErrorResponse(400, `Bad Request: failed to send message #2 with the error message "MEDIA_EMPTY"`)},
			single: []telegramtest.Fault{telegramtest.ErrorResponse(400, "Bad Request: MEDIA_EMPTY")}, want: "[photo photo ] text", refused: "1.png",
		},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.server.FailNext("sendMediaGroup", c.album...)
			r.server.FailNext("sendPhoto", c.single...)
			receipts := r.SendAnswer(channels.Message{Text: "**three**", Media: r.writePictures(3)})
			shown := r.server.BotMessages(person)
			if got := kindsOf(shown); got != c.want || shown[0].Caption != "three" || len(shown[0].CaptionEntities) != 1 || receipts[0].ID != fmt.Sprint(shown[0].ID) {
				t.Errorf("shown is %s, %q, receipt %+v", got, shown[0].Caption, receipts)
			}
			for _, m := range shown[1:] {
				if m.Caption != "" || m.Text != "" && m.Text != fmt.Sprintf("⚠ %q was not sent: Telegram does not accept it.", c.refused) {
					t.Errorf("shown is %+v", m)
				}
			}
		})
	}
}

func TestAnAlbumOfBrokenPicturesArrivesInOrder(t *testing.T) {
	r := newTestChannel(t)
	var files []channels.File
	for i := range 5 {
		files = append(files, channelstest.WriteFile(r.t, itoa(i)+".png", []byte("no picture")))
	}
	r.SendAnswer(channels.Message{Media: files})
	for i, m := range r.server.WaitForCount(t, person, 5) {
		if f, _ := r.server.File(m.File().FileID); m.Kind() != "document" || f.Name != files[i].Name {
			t.Errorf("message %d is %s %q", i, m.Kind(), f.Name)
		}
	}
}

func TestWhereTheChatIsTheReasonAnAlbumIsNotTakenApart(t *testing.T) {
	r := newTestChannel(t)
	r.server.DeleteChat(person)
	se := r.MustFailSend(t.Context(), r.MustPlan(channels.Message{Chat: chatOf("42"), Media: r.writePictures(3)})[0])
	if calls := r.server.Calls(""); !se.Permanent || len(calls) != 1 {
		t.Errorf("got %+v after %d calls", se, len(calls))
	}
}

func TestWhenSomeOfAnAlbumWasSentTheOutcomeIsUnknown(t *testing.T) {
	for name, c := range map[string]struct {
		fault              telegramtest.Fault
		permanent, unknown bool
		after              time.Duration
	}{
		"bad gateway": {fault: telegramtest.BadGateway(), unknown: true},
		"cut":         {fault: telegramtest.Fault{CutBefore: true}, unknown: true},
		"too many":    {fault: telegramtest.RateLimited(60), unknown: true, after: 59 * time.Second},
		"blocked":     {fault: telegramtest.ErrorResponse(403, "Forbidden: bot was blocked by the user"), permanent: true},
	} {
		t.Run(name, func(t *testing.T) {
			r := newTestChannel(t)
			r.server.FailNext("sendMediaGroup", telegramtest.ErrorResponse(400, "Bad Request: MEDIA_EMPTY"))
			r.server.FailNext("sendPhoto", telegramtest.Fault{}, c.fault)
			se := r.MustFailSend(t.Context(), r.MustPlan(channels.Message{Chat: chatOf("42"), Media: r.writePictures(3)})[0])
			if se.Permanent != c.permanent || se.Unknown != c.unknown || se.After < c.after || se.After > c.after+time.Second {
				t.Errorf("got %+v", se)
			}
			wanttest.Equal(t, "shown is", kindsOf(r.server.BotMessages(person)), "photo")
		})
	}
}

func TestAnAlbumInSingleFilesWaitsOutAShortFlood(t *testing.T) {
	files := (&testChannel{t: t}).writePictures(3)
	synctest.Test(t, func(t *testing.T) {
		var calls []string
		ch := musttest.Get(telegram.New(telegram.Options{
			Token: "1:abc", Folder: channelstest.ChatFolders(""), Unpaced: true,
			Client: &http.Client{Transport: roundTrip(func(req *http.Request) (*http.Response, error) {
				calls = append(calls, path.Base(req.URL.Path))
				switch len(calls) {
				case 1:
					return respond(req, 400, `{"ok":false,"error_code":400,"description":"Bad Request: MEDIA_EMPTY"}`), nil
				case 3:
					return respond(req, 429, `{"ok":false,"error_code":429,"description":"Too Many Requests","parameters":{"retry_after":2}}`), nil
				}
				return respond(req, 200, `{"ok":true,"result":{"message_id":1}}`), nil
			})},
		}))(t)
		plan := musttest.Get(ch.Plan(channels.Message{Chat: chatOf("42"), Media: files}))(t)
		began := time.Now()
		if _, err := ch.Send(context.Background(), plan[0]); err != nil {
			t.Error(err)
		}
		if got := strings.Join(calls, " "); got != "sendMediaGroup sendPhoto sendPhoto sendPhoto sendPhoto" || time.Since(began) != 2*time.Second {
			t.Errorf("after %s the calls are %s", time.Since(began), got)
		}
	})
}

func TestManyRefusedFilesBelowALongTextAreNamedInMessagesThatFit(t *testing.T) {
	r := newTestChannel(t, asOfficialServer)
	var files []channels.File
	for i := range 60 {
		files = append(files, channels.File{
			Path: "/nowhere", Name: fmt.Sprintf("recording-of-a-long-meeting-number-%03d.mp4", i), Kind: channels.Video, Size: 60 << 20,
		})
	}
	r.SendAnswer(channels.Message{Text: strings.Repeat("word ", 10000), Media: files})
	said := ""
	for _, m := range r.server.BotMessages(person) {
		said += m.Text + "\n"
	}
	for _, f := range files {
		if !strings.Contains(said, f.Name) {
			t.Errorf("%s is not named", f.Name)
		}
	}
}

func TestAnAlbumThatIsRefusedHalfwayContinuesWhereItEnded(t *testing.T) {
	for name, fault := range map[string]telegramtest.Fault{
		"for another reason": telegramtest.ErrorResponse(401, "Unauthorized"),
		"for a long time":    telegramtest.RateLimited(3600),
	} {
		r := newTestChannel(t)
		good, bad := r.WriteFile("a.png", telegramtest.PNG(10, 10)), r.WriteFile("b.png", telegramtest.PNG(1, 5000))
		o := r.MustPlan(channels.Message{Chat: chatOf("42"), Kind: channels.Answer, Text: "three", Media: []channels.File{good, good, bad}})[0]
		o.Key = "key"
		r.server.FailNext("sendDocument", fault)
		se := r.MustFailSend(t.Context(), o)
		if se.Unknown || se.Permanent || !se.Partial || len(r.server.BotMessages(person)) != 2 {
			t.Errorf("%s: the error is %+v, sent are %d", name, se, len(r.server.BotMessages(person)))
		}
		if name == "for a long time" {
			if se.After < 59*time.Minute {
				t.Errorf("%s: the error is %+v", name, se)
			}
			continue
		}
		first := r.server.BotMessages(person)[0].ID
		receipt, err := r.Send(t.Context(), o)
		if shown := sentAs(r.server.BotMessages(person)); err != nil || shown != "photo+photo document" || receipt.ID != itoa(first) {
			t.Errorf("%s: then shown are %s, the receipt is %+v: %v", name, shown, receipt, err)
		}
		if _, err := r.Send(t.Context(), o); err != nil || len(r.server.BotMessages(person)) != 6 {
			t.Errorf("%s: the next post with the key is not whole: %v", name, err)
		}
	}
}
