package telegram_test

import (
	"cmp"
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"testing"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/channelstest/fakenet"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
)

func TestTheChannelKeepsItsContract(t *testing.T) {
	channelstest.Run(t, func(t *testing.T) channelstest.Subject {
		r := newTestChannel(t)
		return channelstest.Subject{
			Channel:     r.Channel,
			Chat:        chatOf("42"),
			Sent:        func() []channelstest.SentCall { return sentCalls(t, r.server) },
			UserSends:   func(text string) { r.server.UserSends(person, text) },
			PressButton: func(label string) error { return pressNewest(r.server, label) },
			Redelivers:  true,
			Normalize:   channelstest.StripMarkup,
			Remote:      r.remote(),
			Optional: r.optionalFields("getUpdates", func() channels.Channel {
				return newTestChannelOn(t, r.server, r.state).Channel
			}),
		}
	})
}

// remote returns the fields of channelstest.Remote for Telegram.
func (r *testChannel) remote() *channelstest.Remote {
	return &channelstest.Remote{
		New: func(settings channelstest.RemoteSettings) channels.Channel {
			return newTestChannelOn(r.t, r.server, r.state, func(o *telegram.Options) {
				o.Token, o.Admitted = cmp.Or(settings.Token, o.Token), settings.Admitted
			}).Channel
		},
		WrongToken: "123:wrong-token-that-nobody-must-see",
		RenameUser: func(name string) { r.server.AddUser(telegramtest.User{ID: person, FirstName: name}) },
		UserSendsFile: func(text, name, content string) {
			media := telegramtest.Media{Kind: "document", Name: name, Content: []byte(content)}
			r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: text, Media: &media})
		},
		UserReplies: func(to, text string) {
			id, _ := strconv.Atoi(to)
			r.server.UserPosts(telegramtest.UserPost{Chat: person, Text: text, ReplyTo: id})
		},
		FailSend:          func(faults ...fakenet.Fault) { r.server.FailNext("sendMessage", faults...) },
		FailDownload:      func(faults ...fakenet.Fault) { r.server.FailNext(telegramtest.Download, faults...) },
		Downloads:         func() int { return len(r.server.Calls("getFile")) },
		AdvanceClock:      r.server.AdvanceClock,
		AwaitDisconnected: r.server.AwaitDisconnected,
	}
}

// pressNewest presses a button under the newest message, as a person sees it.
func pressNewest(s *telegramtest.Server, label string) error {
	all := s.BotMessages(person)
	m := all[len(all)-1]
	for _, b := range m.Buttons() {
		if b.Text == label {
			s.UserPresses(person, 0, m.ID, b.Data)
			return nil
		}
	}
	return fmt.Errorf("the buttons are %+v", m.Buttons())
}

// optionalFields is what Telegram shows of the optional interfaces. method is the call that fails
// while nothing can be received.
func (r *testChannel) optionalFields(method string, restart func() channels.Channel) channelstest.Optional {
	return channelstest.Optional{
		VisibleTexts: func() (out []string) {
			for _, m := range r.server.BotMessages(person) {
				out = append(out, m.TextOrCaption())
			}
			return out
		},
		DraftText: func() string {
			d, _ := r.server.Draft(person)
			return d.Text
		},
		MessageToReact: func() (channels.Chat, string, func() []string) {
			id := r.server.UserSends(group, "hello").ID
			return chatOf(strconv.FormatInt(group, 10)), itoa(id), func() []string {
				return slices.DeleteFunc([]string{r.server.Reaction(group, id)}, func(s string) bool { return s == "" })
			}
		},
		Memory: r.state.memory,
		UserSendsInParts: func(text string) { // an album that is complete without any time of quiet
			r.server.UserSendsAlbum(telegramtest.UserPost{Chat: person, Text: text}, photos(fullAlbum)...)
		},
		TypingCount: func() int { return len(r.server.Calls("sendChatAction")) },
		Restart:     restart,
		Menu:        func() []string { return commandNames(r.server.Commands("default")) },
		ChatMenu:    func() []string { return commandNames(r.server.Commands("chat:42")) },
		BreakReceiving: func() func() {
			r.server.SetFault(func(c telegramtest.Call) telegramtest.Fault {
				if c.Method == method {
					return telegramtest.ErrorResponse(http.StatusConflict, "Conflict: terminated by other getUpdates request")
				}
				return telegramtest.Fault{}
			})
			r.server.InjectUpdate(`{"poll":{}}`) // not for the bot; ends the open poll
			return func() { r.server.SetFault(nil) }
		},
		Disconnect: r.server.Close,
		Secrets:    []string{r.server.Token, strings.Split(r.server.Token, ":")[1]},
	}
}

func commandNames(menu []telegramtest.Command) (out []string) {
	for _, c := range menu {
		out = append(out, c.Command)
	}
	return out
}

// sentCalls is what the person was shown, one element a call.
func sentCalls(t *testing.T, s *telegramtest.Server) []channelstest.SentCall {
	t.Helper()
	var out []channelstest.SentCall
	last := 0
	for _, m := range s.BotMessages(person) {
		if m.Call != last {
			out = append(out, channelstest.SentCall{})
			last = m.Call
		}
		one := &out[len(out)-1]
		one.Text += m.TextOrCaption()
		if info := m.File(); info != nil {
			f, ok := s.File(info.FileID)
			if !ok {
				t.Fatalf("there is no file %s", info.FileID)
			}
			one.Files = append(one.Files, channelstest.SentFile{Name: f.Name, Content: string(f.Content)})
		}
	}
	return out
}
