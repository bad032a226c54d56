package gateway_test

import (
	"crypto/sha256"
	"encoding/json"
	"fmt"
	"maps"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
)

func quoteJSON(v any) string {
	b, err := json.Marshal(v)
	if err != nil {
		panic(err) // a string or a decoded document can always be encoded
	}
	return string(b)
}

// writePictures writes two pictures and a text file into the workspace.
func (fx *fixture) writePictures() {
	fx.t.Helper()
	for name, content := range map[string][]byte{"a.png": telegramtest.PNG(40, 30), "b.png": telegramtest.PNG(50, 30), "notes.txt": []byte("notes\n")} {
		musttest.Do(fx.t, os.WriteFile(filepath.Join(fx.dir, name), content, 0o600))
	}
}

const noMessage = "no message"

// callLog collects calls by message, with the messages in the order of their first
// call.
type callLog struct {
	order []string
	calls map[string][]string
}

func (r *callLog) add(message, call string) {
	if strings.Contains(call, "⏳ Stopping…") { // only if the end of the agent takes 200 ms, as on a busy machine
		return
	}
	if r.calls == nil {
		r.calls = map[string][]string{}
	}
	if r.calls[message] == nil {
		r.order = append(r.order, message)
	}
	r.calls[message] = append(r.calls[message], call)
}

func (r *callLog) String() string {
	var b strings.Builder
	for _, message := range r.order {
		if message == noMessage { // these come from several goroutines
			slices.Sort(r.calls[message])
		}
		fmt.Fprintf(&b, "%s\n", message)
		for _, call := range r.calls[message] {
			fmt.Fprintf(&b, "\t%s\n", call)
		}
	}
	return b.String()
}

func uploaded(field, name, kind string, content []byte) string {
	return fmt.Sprintf(" %s=%s(%s, %d bytes, %x)", field, name, kind, len(content), sha256.Sum256(content))
}

const adaOnTelegram = 7

type telegramNetwork struct {
	r   *fixture
	api *telegramtest.Server
}

func openTelegram(fx *fixture) chatNetwork {
	api := telegramtest.New(fx.t)
	api.AddUser(telegramtest.User{ID: adaOnTelegram, FirstName: "ada", Username: "ada"})
	ch := musttest.Get(telegram.New(telegram.Options{
		Token: api.Token, APIBase: api.URL, Folder: channelstest.ChatFolders(fx.dir),
	}))(fx.t)
	fx.otherChannels = map[string]channels.Channel{telegram.Name: ch}
	fx.start()
	if _, ok := api.AwaitCalls("setMyCommands", testTimeout, func(calls []telegramtest.Call) bool {
		return len(calls) == 2 && calls[0].Done && calls[1].Done // one for each language
	}); !ok {
		fx.t.Fatal("the commands were not registered")
	}
	return telegramNetwork{fx, api}
}

func (n telegramNetwork) say(text string) { n.api.UserSends(adaOnTelegram, text) }

func (n telegramNetwork) album(caption string, pictures int) {
	picture := telegramtest.Media{Kind: "photo", Content: telegramtest.PNG(30, 30), Width: 30, Height: 30}
	n.api.UserSendsAlbum(telegramtest.UserPost{Chat: adaOnTelegram, Text: caption}, slices.Repeat([]telegramtest.Media{picture}, pictures)...)
}

func (n telegramNetwork) press(label string) {
	for _, m := range slices.Backward(n.api.BotMessages(adaOnTelegram)) {
		for _, b := range m.Buttons() {
			if b.Text == label {
				n.api.UserPresses(adaOnTelegram, adaOnTelegram, m.ID, b.Data)
				if _, ok := n.api.AwaitCalls("answerCallbackQuery", testTimeout, func(calls []telegramtest.Call) bool {
					return len(calls) > 0 && calls[len(calls)-1].Done // a conversation has one press
				}); !ok {
					n.r.t.Fatal("the press was not answered")
				}
				return
			}
		}
	}
	n.r.t.Fatalf("no button %q is shown", label)
}

func (n telegramNetwork) await(text string) { awaitTelegramText(n.r.t, n.api, adaOnTelegram, text) }

func (n telegramNetwork) awaitRemoval(text string) {
	shown, ok := n.api.AwaitMessages(adaOnTelegram, testTimeout, func(all []telegramtest.Message) bool {
		return !slices.ContainsFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), text) })
	})
	if !ok {
		n.r.t.Fatalf("%q is still shown: %q", text, messageTexts(shown))
	}
}

func (n telegramNetwork) limitNextSend() { n.api.FailNext("sendMessage", telegramtest.RateLimited(1)) }

func (n telegramNetwork) loseNextReceipt() {
	n.api.FailNext("sendMessage", telegramtest.ErrorAfterEffect(http.StatusBadGateway))
}

// passingCalls are the methods that change nothing a person sees for longer than a moment, and the
// one that takes the buttons off a message, which comes before or after an edit that does the same.
var passingCalls = []string{
	"editMessageReplyMarkup", "getMe", "getUpdates", "getWebhookInfo", "deleteWebhook", "sendChatAction", "getFile", "getChat", telegramtest.Download,
}

func (n telegramNetwork) transcript() string {
	var all callLog
	for _, c := range n.api.Calls("") {
		if slices.Contains(passingCalls, c.Method) {
			continue
		}
		about := noMessage
		switch {
		case len(c.Messages) > 0:
			about = fmt.Sprintf("message %d", c.Messages[0])
		case c.Params["message_id"] != "":
			about = "message " + c.Params["message_id"]
		}
		call := fmt.Sprintf("%s %d", c.Method, c.Status)
		for _, name := range slices.Sorted(maps.Keys(c.Params)) {
			call += " " + name + "=" + quoteJSON(c.Params[name])
		}
		for _, u := range c.Uploads {
			call += uploaded(u.Field, u.Name, u.MIME, u.Content)
		}
		all.add(about, call)
	}
	return all.String()
}

const adaOnDiscord = "4200000000000000042"

type discordNetwork struct {
	r   *fixture
	api *discordtest.Server
	dm  string
}

func openDiscord(fx *fixture) chatNetwork {
	api := discordtest.New(fx.t)
	api.AddUser(discordtest.User{ID: adaOnDiscord, Username: "ada"})
	transport := &http.Transport{}
	fx.t.Cleanup(transport.CloseIdleConnections)
	ch := musttest.Get(discord.New(discord.Options{
		Token: api.Token, APIBase: api.URL, Log: zap.NewNop(), People: []string{adaOnDiscord}, Client: &http.Client{Transport: transport},
		Folder: channelstest.ChatFolders(fx.dir),
	}))(fx.t)
	fx.otherChannels = map[string]channels.Channel{discord.Name: ch}
	fx.start()
	n := discordNetwork{r: fx, api: api, dm: api.DM(adaOnDiscord).ID}
	api.AwaitReady(fx.t)
	if _, ok := api.AwaitCalls(discordtest.PutCommands, testTimeout, func(calls []discordtest.Call) bool {
		return len(calls) == 1 && calls[0].Done
	}); !ok {
		fx.t.Fatal("the commands were not registered")
	}
	return n
}

func (n discordNetwork) say(text string) { n.api.UserSends(n.dm, adaOnDiscord, text) }

func (n discordNetwork) album(caption string, pictures int) {
	picture := discordtest.File{Name: "image.png", Type: "image/png", Content: telegramtest.PNG(30, 30)}
	n.api.UserSends(n.dm, adaOnDiscord, caption, slices.Repeat([]discordtest.File{picture}, pictures)...)
}

func (n discordNetwork) press(label string) {
	for _, m := range slices.Backward(n.api.BotMessages(n.dm)) {
		for _, b := range m.Buttons() {
			if b.Label == label {
				if _, err := n.api.UserPresses(adaOnDiscord, m.ID, b.CustomID); err != nil {
					n.r.t.Fatal(err)
				}
				if _, ok := n.api.AwaitCalls(discordtest.Callback, testTimeout, func(calls []discordtest.Call) bool {
					return len(calls) > 0 && calls[len(calls)-1].Done // a conversation has one press
				}); !ok {
					n.r.t.Fatal("the press was not answered")
				}
				return
			}
		}
	}
	n.r.t.Fatalf("no button %q is shown", label)
}

func (n discordNetwork) await(text string) {
	text = strings.TrimPrefix(text, "↻ ") // a repeated send carries the same nonce and needs no mark
	shown, ok := n.api.AwaitMessages(n.dm, 2*testTimeout, func(all []discordtest.Message) bool {
		return slices.ContainsFunc(all, func(m discordtest.Message) bool { return strings.Contains(m.Content, text) })
	})
	if !ok {
		n.r.t.Fatalf("%q is not shown, but %+v", text, shown)
	}
}

func (n discordNetwork) awaitRemoval(text string) {
	shown, ok := n.api.AwaitMessages(n.dm, testTimeout, func(all []discordtest.Message) bool {
		return !slices.ContainsFunc(all, func(m discordtest.Message) bool { return strings.Contains(m.Content, text) })
	})
	if !ok {
		n.r.t.Fatalf("%q is still shown: %+v", text, shown)
	}
}

func (n discordNetwork) limitNextSend() {
	n.api.FailNext(discordtest.CreateMessage, discordtest.RateLimited(time.Second))
}

func (n discordNetwork) loseNextReceipt() {
	n.api.FailNext(discordtest.CreateMessage, discordtest.Fault{CutAfter: true})
}

var (
	snowflake = regexp.MustCompile(`\b\d{17,20}\b`)
	nonce     = regexp.MustCompile(`"nonce":"[^"]*"`)
)

func (n discordNetwork) transcript() string {
	var all callLog
	number := map[string]string{adaOnDiscord: "ada", n.dm: "dm", n.api.Bot.ID: "bot"}
	for _, c := range n.api.Calls("") {
		if strings.HasPrefix(c.Route, "GET ") || c.Route == discordtest.StartTyping || strings.HasPrefix(string(c.Body), `{"components":[],"ID":`) {
			continue
		}
		about := noMessage
		if c.Message != "" {
			about = "message " + c.Message
		}
		call := fmt.Sprintf("%s %d %s", c.Route, c.Status, nonce.ReplaceAllString(string(c.Body), `"nonce":"…"`))
		for _, u := range c.Files {
			call += uploaded(u.Field, u.Name, u.Type, u.Content)
		}
		name := func(id string) string {
			if number[id] == "" {
				number[id] = fmt.Sprintf("#%d", len(number)-2)
			}
			return number[id]
		}
		all.add(snowflake.ReplaceAllStringFunc(about, name), snowflake.ReplaceAllStringFunc(call, name))
	}
	return all.String()
}
