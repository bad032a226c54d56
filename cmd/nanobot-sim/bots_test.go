package main

import (
	"context"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/bwmarrin/discordgo"
	"github.com/go-telegram/bot"
	"github.com/go-telegram/bot/models"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// runTelegramBot runs a bot that repeats what people write, under a button.
func runTelegramBot(t *testing.T, s *simulator) {
	t.Helper()
	b := musttest.Get(bot.New(s.Token, bot.WithServerURL(s.API), bot.WithHTTPClient(time.Second, &http.Client{}),
		bot.WithDefaultHandler(func(ctx context.Context, b *bot.Bot, u *models.Update) {
			if q := u.CallbackQuery; q != nil {
				_, _ = b.AnswerCallbackQuery(ctx, &bot.AnswerCallbackQueryParams{CallbackQueryID: q.ID, Text: "thanks"})
				_, _ = b.EditMessageText(ctx, &bot.EditMessageTextParams{
					ChatID: q.Message.Message.Chat.ID, MessageID: q.Message.Message.ID, Text: "you chose " + q.Data,
				})
				return
			}
			_, _ = b.SendMessage(ctx, &bot.SendMessageParams{
				ChatID: u.Message.Chat.ID, Text: "<b>" + u.Message.From.FirstName + "</b> said " + u.Message.Text, ParseMode: models.ParseModeHTML,
				ReplyMarkup: &models.InlineKeyboardMarkup{InlineKeyboard: [][]models.InlineKeyboardButton{{{Text: "Yes", CallbackData: "y"}}}},
			})
		})))(t)
	ctx, cancel := context.WithCancel(t.Context())
	var work sync.WaitGroup
	work.Go(func() { b.Start(ctx) })
	t.Cleanup(func() { cancel(); work.Wait() })
}

func TestABotOfGoTelegramRunsAgainstTheSimulator(t *testing.T) {
	s := start(t, "telegram", "--token", "42:abc")
	wanttest.Equal(t, "the bot is", s.Bot.ID+" "+s.Token, "42 42:abc")
	runTelegramBot(t, s)
	s.tryTelegramBot()
	inGroup := s.post("messages", `{"user": 8, "chat": -5, "text": "all", "file": {"name": "a.txt", "content": "aGk="}}`)
	wanttest.Equal(t, "the chat is", s.next(inGroup.After, "sendMessage").Chat, "-5")
	wanttest.EqualSlices(t, "violations are", s.violations(), nil)
}

// tryTelegramBot lets a person write to the bot and press its button.
func (s *simulator) tryTelegramBot() {
	s.t.Helper()
	posted := s.post("messages", `{"user": 7, "text": "hello"}`)
	call := s.next(posted.After, "sendMessage")
	wanttest.Equal(s.t, "the text is", call.Text, "User7 said hello")
	wanttest.Equal(s.t, "the chat is", call.Chat, "7")
	wanttest.EqualSlices(s.t, "the buttons are", call.Buttons, []sentButton{{Text: "Yes", Data: "y"}})
	newer := s.next(s.post("messages", `{"user": 7, "text": "again"}`).After, "sendMessage")
	pressed := s.post("presses", `{"user": 7, "button": "y", "message": %s}`, call.Messages[0])
	wanttest.Equal(s.t, "the button is under", pressed.Message, call.Messages[0])
	wanttest.Equal(s.t, "the press is answered with", s.next(pressed.After, "answerCallbackQuery").Text, "thanks")
	edit := s.next(pressed.After, "editMessageText")
	wanttest.Equal(s.t, "the edit says", edit.Text+" in "+edit.Messages[0], "you chose y in "+call.Messages[0])
	newest := s.post("presses", `{"user": "7", "button": "Yes"}`)
	wanttest.Equal(s.t, "the newest button is under", newest.Message, newer.Messages[0])
	wanttest.EqualSlices(s.t, "violations are", s.violations(), nil)
}

// redirect sends what discordgo sends to discord.com to the simulator.
type redirect struct{ to *url.URL }

func (r redirect) RoundTrip(req *http.Request) (*http.Response, error) {
	req = req.Clone(req.Context())
	req.URL.Scheme, req.URL.Host, req.Host = r.to.Scheme, r.to.Host, r.to.Host
	return http.DefaultTransport.RoundTrip(req)
}

// runDiscordBot is runTelegramBot for Discord. It has the command /ask.
func runDiscordBot(t *testing.T, s *simulator) {
	t.Helper()
	d := musttest.Get(discordgo.New("Bot " + s.Token))(t)
	d.Client.Transport = redirect{musttest.Get(url.Parse(s.Address))(t)}
	d.Identify.Intents = discordgo.IntentsGuilds | discordgo.IntentsGuildMessages | discordgo.IntentsDirectMessages | discordgo.IntentMessageContent
	d.AddHandler(func(d *discordgo.Session, m *discordgo.MessageCreate) {
		if m.Author.Bot {
			return
		}
		_, _ = d.ChannelMessageSendComplex(m.ChannelID, &discordgo.MessageSend{
			Content: m.Author.Username + " said " + m.Content,
			Components: []discordgo.MessageComponent{discordgo.ActionsRow{Components: []discordgo.MessageComponent{
				discordgo.Button{Label: "Yes", CustomID: "y"},
			}}},
		})
	})
	d.AddHandler(func(d *discordgo.Session, i *discordgo.InteractionCreate) {
		r := &discordgo.InteractionResponse{Type: discordgo.InteractionResponseChannelMessageWithSource, Data: &discordgo.InteractionResponseData{Content: "asked"}}
		if i.Type == discordgo.InteractionMessageComponent {
			r.Type, r.Data.Content = discordgo.InteractionResponseUpdateMessage, "you chose "+i.MessageComponentData().CustomID
		}
		_ = d.InteractionRespond(i.Interaction, r)
	})
	musttest.Do(t, d.Open())
	t.Cleanup(func() { _ = d.Close() })
	musttest.Get(d.ApplicationCommandBulkOverwrite(s.Bot.ID, "", []*discordgo.ApplicationCommand{{Name: "ask", Description: "asks"}}))(t)
}

func TestABotOfDiscordgoRunsAgainstTheSimulator(t *testing.T) {
	s := start(t, "discord")
	early := make(chan int, 1)
	go func() {
		var o outcome
		early <- s.request("POST", "/_sim/messages", `{"user": 7, "text": "before the bot is connected"}`, nil, &o)
	}()
	runDiscordBot(t, s)
	wanttest.Equal(t, "the early message has the status", <-early, http.StatusOK)
	wanttest.Equal(t, "the early text is", s.next(0, "POST /channels/{channel_id}/messages").Text, "user7 said before the bot is connected")
	s.tryDiscordBot()
}

// tryDiscordBot is tryTelegramBot for Discord, with the command /ask and a DM.
func (s *simulator) tryDiscordBot() {
	s.t.Helper()
	const create, callback = "POST /channels/{channel_id}/messages", "POST /interactions/{interaction_id}/{interaction_token}/callback"
	posted := s.post("messages", `{"user": 7, "chat": "general", "text": "hello"}`)
	call := s.next(posted.After, create)
	wanttest.Equal(s.t, "the text is", call.Text+" in "+call.Chat, "user7 said hello in "+s.Channel)
	wanttest.EqualSlices(s.t, "the buttons are", call.Buttons, []sentButton{{Text: "Yes", Data: "y"}})
	pressed := s.post("presses", `{"user": 7, "chat": %q, "button": "y"}`, s.Channel)
	edit := s.next(pressed.After, callback)
	wanttest.Equal(s.t, "the edit says", edit.Text+" in "+edit.Messages[0], "you chose y in "+call.Messages[0])
	asked := s.post("commands", `{"user": 7, "chat": "general", "command": "ask"}`)
	wanttest.Equal(s.t, "the command is answered with", s.next(asked.After, callback).Text, "asked")
	alone := s.post("messages", `{"user": 7, "text": "alone"}`)
	wanttest.Equal(s.t, "the DM is", s.next(alone.After, create).Chat, alone.Chat)
	if alone.Chat == s.Channel {
		s.t.Error("a message without a chat is in the guild")
	}
	wanttest.EqualSlices(s.t, "violations are", s.violations(), nil)
}
