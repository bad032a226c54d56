package main

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"net/http"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"
	"unicode/utf16"

	"nanobot/channels/channelstest/fakenet"
	"nanobot/channels/telegram/telegramtest"
)

// maxTelegramID is the largest ID: they have at most 52 significant bits.
const maxTelegramID = 1 << 52

// telegram implements network.
type telegram struct{ *telegramtest.Server }

var telegramToken = regexp.MustCompile(`^([1-9][0-9]{0,14}):[A-Za-z0-9_-]+$`)

func openTelegram(token string) (network, http.Handler, error) {
	s, handler := telegramtest.Open()
	s.AcceptAnyMultipart()
	if token != "" {
		parts := telegramToken.FindStringSubmatch(token)
		if parts == nil {
			return nil, nil, errors.New("a token of Telegram is a number, a colon, and letters, digits, _ and -")
		}
		s.Token = token
		s.Bot.ID, _ = strconv.ParseInt(parts[1], 10, 64)
	}
	return telegram{s}, handler, nil
}

func (t telegram) hello(address string) map[string]any {
	t.URL = address
	return map[string]any{
		"token": t.Token, "api": address,
		"bot": map[string]string{"id": strconv.FormatInt(t.Bot.ID, 10), "username": t.Bot.Username},
	}
}

// awaitBot waits for the bot's first call. Telegram stores updates for a bot that is offline.
func (t telegram) awaitBot(timeout time.Duration) bool {
	_, ok := t.AwaitCalls("", timeout, func(calls []telegramtest.Call) bool { return len(calls) > 0 })
	return ok
}

// resolveChat returns the user and the chat of an action.
func (t telegram) resolveChat(a action) (chat, user int64, err error) {
	user, err = a.User.number()
	switch {
	case err != nil:
	case user == 0 || user >= maxTelegramID:
		err = fmt.Errorf("user %q is no ID of a person: it is a number from 1 to 2^52", a.User)
	case user == t.Bot.ID:
		err = fmt.Errorf("user %d is the bot itself", user)
	case a.Chat == "":
		return user, user, nil
	}
	if err != nil {
		return 0, 0, err
	}
	chat, err = strconv.ParseInt(string(a.Chat), 10, 64)
	switch {
	case err != nil || chat == 0 || chat <= -maxTelegramID:
		err = fmt.Errorf("chat %q is no ID of a chat: that of a group is negative, and a private chat has its user's", a.Chat)
	case chat > 0 && chat != user:
		err = fmt.Errorf("chat %d is a private chat, in which user %d cannot be; groups have negative numbers", chat, user)
	}
	return chat, user, err
}

func (t telegram) check(a action) error {
	_, _, err := t.resolveChat(a)
	most := 4096
	if a.File != nil {
		most = 1024
	}
	switch {
	case err != nil:
		return err
	case len(utf16.Encode([]rune(a.Text))) > most:
		return fmt.Errorf("the text is longer than %d characters, which no person can send", most)
	case a.File != nil && len(a.File.Content) == 0:
		return errors.New("the file is empty; give its content in base64")
	case a.File != nil && !slices.Contains(telegramFiles, cmp.Or(a.File.Kind, "document")):
		return fmt.Errorf("there is no kind of file %q; there are %s", a.File.Kind, strings.Join(telegramFiles, ", "))
	case a.Command != "":
		return errors.New("a command of Telegram is a message with the text /command")
	case len(a.Values) > 0:
		return errors.New("a keyboard of Telegram has no values to choose")
	}
	for _, m := range []id{a.ReplyTo, a.Message} {
		if n, err := m.number(); err != nil || n > math.MaxInt32 {
			return fmt.Errorf("%q is no ID of a message", m)
		}
	}
	return nil
}

var telegramFiles = []string{"document", "photo", "video", "animation", "audio", "voice", "video_note", "sticker"}

func (t telegram) act(a action) (map[string]any, error) {
	chat, user, err := t.resolveChat(a)
	if err != nil {
		return nil, err
	}
	if a.Button != "" {
		return t.press(chat, user, a)
	}
	reply, _ := a.ReplyTo.number()
	if _, ok := t.FindMessage(chat, int(reply)); reply != 0 && !ok {
		return nil, fmt.Errorf("chat %d shows no message %d to reply to", chat, reply)
	}
	p := telegramtest.UserPost{Chat: chat, From: user, Text: a.Text, ReplyTo: int(reply)}
	if f := a.File; f != nil {
		p.Media = &telegramtest.Media{Kind: cmp.Or(f.Kind, "document"), Name: f.Name, Content: f.Content}
	}
	m := t.UserPosts(p)
	return map[string]any{"chat": strconv.FormatInt(chat, 10), "message": strconv.Itoa(m.ID)}, nil
}

// press presses a button once the chat shows it.
func (t telegram) press(chat, user int64, a action) (result map[string]any, err error) {
	var in, data string
	_, ok := t.AwaitMessages(chat, buttonWait, func(shown []telegramtest.Message) (ok bool) {
		in, data, ok = findButton(shown, a, describeTelegram)
		return ok
	})
	if !ok {
		return nil, fmt.Errorf("chat %d shows no message of the bot with the button %q", chat, a.Button)
	}
	message, _ := strconv.Atoi(in)
	query := t.UserPresses(chat, user, message, data)
	return map[string]any{"chat": strconv.FormatInt(chat, 10), "message": in, "press": query}, nil
}

// describeTelegram returns the ID and the buttons of a message.
func describeTelegram(m telegramtest.Message) (in string, buttons []sentButton) {
	for _, b := range m.Buttons() {
		buttons = append(buttons, sentButton{b.Text, b.Data, b.URL})
	}
	return strconv.Itoa(m.ID), buttons
}

// sends reports whether a method sends or changes something.
func (t telegram) sends(method string) bool {
	return !strings.HasPrefix(method, "get") && method != telegramtest.Download &&
		!slices.Contains([]string{"setWebhook", "deleteWebhook", "logOut", "close"}, method)
}

func (t telegram) sent(after int, wait time.Duration) []sentCall {
	out := []sentCall{}
	for _, c := range t.AwaitEnded(after, wait, t.sends) {
		s := newSentCall(c.Method, c.Call, c.Params["chat_id"])
		s.Error, s.Params = c.Description, c.Params
		for _, u := range c.Uploads {
			s.Files = append(s.Files, sentFile{u.Name, u.MIME, u.Content})
		}
		for _, m := range c.Shown {
			in, buttons := describeTelegram(m)
			s.Chat, s.Text = strconv.FormatInt(m.Chat.ID, 10), cmp.Or(s.Text, m.TextOrCaption())
			s.Messages, s.Buttons = append(s.Messages, in), append(s.Buttons, buttons...)
		}
		if message := c.Params["message_id"]; message != "" && len(s.Messages) == 0 {
			s.Messages = []string{message}
		}
		s.Text = cmp.Or(s.Text, c.Params["text"])
		out = append(out, s)
	}
	return out
}

func (t telegram) faults() map[string]fakenet.Fault {
	return map[string]fakenet.Fault{
		"429":     telegramtest.RateLimited(1),
		"500":     telegramtest.ErrorResponse(http.StatusInternalServerError, "Internal Server Error"),
		"garbled": telegramtest.TruncatedJSON(),
	}
}
