package discordtest_test

import (
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

// runCommand registers a command and makes the user run it.
func (bot *testBot) runCommand() discordtest.Interaction {
	bot.t.Helper()
	bot.mustCall("PUT", "/applications/"+bot.ApplicationID+"/commands", []object{{
		"name": "ask", "description": "it", "options": []object{{"type": 3, "name": "text", "description": "what", "required": true}},
	}})
	made := musttest.Get(bot.UserRunsCommand(bot.channel, bot.user, "ask", map[string]any{"text": "why?"}))(bot.t)
	return made
}

func (bot *testBot) respond(i discordtest.Interaction, body object) reply {
	bot.t.Helper()
	return bot.callJSON("POST", "/interactions/"+i.ID+"/"+i.Token+"/callback", body)
}

func TestACommandIsAnsweredOnce(t *testing.T) {
	bot := newTestBot(t)
	bot.token = "" // the interaction's own token is enough
	i := func() discordtest.Interaction {
		bot.token = "Bot " + bot.Token
		defer func() { bot.token = "" }()
		return bot.runCommand()
	}()
	if got := bot.respond(i, object{"type": 4, "data": object{"content": "because", "flags": 64}}); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	bot.expectError(bot.respond(i, object{"type": 4, "data": object{"content": "again"}}), 400, 40060)
	done := bot.AwaitInteraction(t, i.ID)
	shown := bot.BotMessages(bot.channel)
	if done.Type != 4 || len(shown) != 1 || shown[0].ID != done.MessageID || shown[0].Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("%+v, shown %+v", done, shown)
	}
	bot.token = "Bot " + bot.Token
	if all := decodeJSON[[]discordtest.Message](t, bot.mustCall("GET", "/channels/"+bot.channel+"/messages", nil).body); len(all) != 0 {
		t.Error("the history tells what only one person sees")
	}
}

func TestADeferredMessageIsFilledThenFollowedUp(t *testing.T) {
	bot := newTestBot(t)
	i := bot.runCommand()
	hook := "/webhooks/" + bot.ApplicationID + "/" + i.Token
	bot.expectError(bot.callJSON("POST", hook, object{"content": "early"}), 404, 10015)
	got := bot.callJSON("POST", "/interactions/"+i.ID+"/"+i.Token+"/callback?with_response=true", object{"type": 5})
	if got.status != 200 || bot.BotMessages(bot.channel)[0].Flags&discordtest.FlagLoading == 0 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	bot.mustCall("PATCH", hook+"/messages/@original", object{"content": "one"})
	two := bot.mustCall("POST", hook, object{"content": "two"})
	bot.mustCall("PATCH", hook+"/messages/"+two.ID, object{"content": "two!"})
	other := bot.mustCall("POST", "/channels/"+bot.DM(bot.user).ID+"/messages", object{"content": "elsewhere"})
	bot.expectError(bot.callJSON("PATCH", hook+"/messages/"+other.ID, object{"content": "x"}), 404, 10008)
	expectEqual(t, "shown", contents(bot.BotMessages(bot.channel)), []string{"one", "two!"})
	bot.mustCall("DELETE", hook+"/messages/@original", nil)
	expectEqual(t, "shown", contents(bot.BotMessages(bot.channel)), []string{"two!"})
	bot.expectError(bot.callJSON("GET", hook+"/messages/@original", nil), 404, 10008)
	bot.AdvanceClock(16 * time.Minute)
	bot.expectError(bot.callJSON("POST", hook, object{"content": "late"}), 401, 50027)
}

func TestTheFirstFollowupFillsTheDeferredMessage(t *testing.T) {
	bot := newTestBot(t)
	i := bot.runCommand()
	bot.respond(i, object{"type": 5})
	bot.mustCall("POST", "/webhooks/"+bot.ApplicationID+"/"+i.Token, object{"content": "filled"})
	if shown := bot.BotMessages(bot.channel); len(shown) != 1 || shown[0].Content != "filled" || shown[0].Flags != 0 {
		t.Errorf("shown: %+v", shown)
	}
}

func TestAnInteractionIsOverAfterThreeSeconds(t *testing.T) {
	bot := newTestBot(t)
	i := bot.runCommand()
	bot.AdvanceClock(3 * time.Second)
	bot.expectError(bot.respond(i, object{"type": 5}), 404, 10062)
	bot.expectError(bot.respond(discordtest.Interaction{ID: i.ID, Token: "no"}, object{"type": 5}), 404, 10062)
	if bot.Interaction(i.ID).Type != 0 {
		t.Error("it is answered")
	}
}

func TestButtonsAndMenus(t *testing.T) {
	bot := newTestBot(t)
	m := bot.sendMessage(object{"content": "?", "components": []object{
		rowOf(button("yes"), object{"type": 2, "style": 2, "label": "no", "custom_id": "no", "disabled": true}),
		rowOf(object{"type": 3, "custom_id": "menu", "options": []object{{"label": "A", "value": "a"}}}),
	}})
	for _, wrong := range [][]string{{"other"}, {"no"}, {"yes", "value"}, {"menu"}, {"menu", "b"}, {"menu", "a", "a"}} {
		if _, err := bot.UserPresses(bot.user, m.ID, wrong[0], wrong[1:]...); err == nil {
			t.Errorf("press %q works", wrong)
		}
	}
	i := musttest.Get(bot.UserPresses(bot.user, m.ID, "yes"))(t)
	bot.respond(i, object{"type": 7, "data": object{"content": "yes it is", "components": []object{}}})
	if got := bot.BotMessages(bot.channel)[0]; got.Content != "yes it is" || len(got.Components) != 0 || got.Edits != 1 {
		t.Errorf("shown: %+v", got)
	}
	if _, err := bot.UserPresses(bot.user, m.ID, "yes"); err == nil {
		t.Error("a button that is gone can be pressed")
	}
	slash := bot.runCommand()
	bot.expectError(bot.respond(slash, object{"type": 7, "data": object{"content": "x"}}), 400, 50035)
	bot.expectViolation("does not answer this")
	if got := bot.respond(slash, object{"type": 5}); got.status != 204 {
		t.Errorf("after a refused answer: %d", got.status)
	}
}

func TestOnlyRegisteredCommandsCanBeRun(t *testing.T) {
	bot := newTestBot(t)
	bot.runCommand()
	for command, options := range map[string]map[string]any{
		"other": nil, "ask": nil,
	} {
		if _, err := bot.UserRunsCommand(bot.channel, bot.user, command, options); err == nil {
			t.Errorf("%s %v works", command, options)
		}
	}
	if _, err := bot.UserRunsCommand(bot.channel, bot.user, "ask", map[string]any{"text": "x", "more": 1}); err == nil {
		t.Error("an option that does not exist works")
	}
}

func TestACommandReachesTheBotWithItsOptionsAndFiles(t *testing.T) {
	bot := newTestBot(t)
	bot.mustCall("PUT", "/applications/"+bot.ApplicationID+"/commands", []object{{
		"name": "see", "description": "it", "options": []object{
			{"type": 3, "name": "text", "description": "what"}, {"type": 11, "name": "file", "description": "which"},
		},
	}})
	bot.SetUploadLimit(bot.guild, 50<<20)
	w := bot.dial()
	bot.identify(w, guilds)
	event := decodeJSON[struct {
		Tier  int `json:"premium_tier"`
		Roles []struct {
			Tags struct {
				Bot string `json:"bot_id"`
			}
		}
	}](t, w.waitForEvent("GUILD_CREATE").Data)
	if event.Tier != 2 || event.Roles[1].Tags.Bot != bot.Bot.ID {
		t.Errorf("%+v", event)
	}
	musttest.Get(bot.UserRunsCommand(bot.channel, bot.user, "see", map[string]any{"file": discordtest.File{Name: "a.txt", Content: []byte("A")}, "text": "this"}))(t)
	got := decodeJSON[struct {
		Limit  int64 `json:"attachment_size_limit"`
		Member struct{ User discordtest.User }
		Data   struct {
			Options []struct {
				Name  string
				Value string
			}
			Resolved struct {
				Attachments map[string]discordtest.Attachment
			}
		}
	}](t, w.waitForEvent("INTERACTION_CREATE").Data)
	if got.Limit != 50<<20 || got.Member.User.ID != bot.user || got.Data.Options[0].Value != "this" {
		t.Errorf("%+v", got)
	}
	if _, body, err := bot.download(got.Data.Resolved.Attachments[got.Data.Options[1].Value].URL); err != nil || string(body) != "A" {
		t.Errorf("%q %v", body, err)
	}
}
