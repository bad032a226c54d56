package discordtest_test

import (
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
)

// slash registers a command and has the user give it.
func (r *rig) slash() discordtest.Interaction {
	r.t.Helper()
	r.must("PUT", "/applications/"+r.ApplicationID+"/commands", []object{{
		"name": "ask", "description": "it", "options": []object{{"type": 3, "name": "text", "description": "what", "required": true}},
	}})
	made, err := r.UserRunsCommand(r.channel, r.user, "ask", map[string]any{"text": "why?"})
	if err != nil {
		r.t.Fatal(err)
	}
	return made
}

func (r *rig) answer(i discordtest.Interaction, body object) reply {
	r.t.Helper()
	return r.call("POST", "/interactions/"+i.ID+"/"+i.Token+"/callback", body)
}

func TestACommandIsAnsweredOnce(t *testing.T) {
	r := newRig(t)
	r.token = "" // the interaction's own token is enough
	i := func() discordtest.Interaction {
		r.token = "Bot " + r.Token
		defer func() { r.token = "" }()
		return r.slash()
	}()
	if got := r.answer(i, object{"type": 4, "data": object{"content": "because", "flags": 64}}); got.status != 204 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	r.refused(r.answer(i, object{"type": 4, "data": object{"content": "again"}}), 400, 40060)
	done := r.AwaitInteraction(t, i.ID)
	shown := r.BotMessages(r.channel)
	if done.Type != 4 || len(shown) != 1 || shown[0].ID != done.MessageID || shown[0].Flags&discordtest.FlagEphemeral == 0 {
		t.Errorf("%+v, shown %+v", done, shown)
	}
	r.token = "Bot " + r.Token
	if all := into[[]discordtest.Message](t, r.must("GET", "/channels/"+r.channel+"/messages", nil).body); len(all) != 0 {
		t.Error("the history tells what only one person sees")
	}
}

func TestAPromisedAnswerIsFilledThenFollowed(t *testing.T) {
	r := newRig(t)
	i := r.slash()
	hook := "/webhooks/" + r.ApplicationID + "/" + i.Token
	r.refused(r.call("POST", hook, object{"content": "early"}), 404, 10015)
	got := r.call("POST", "/interactions/"+i.ID+"/"+i.Token+"/callback?with_response=true", object{"type": 5})
	if got.status != 200 || r.BotMessages(r.channel)[0].Flags&discordtest.FlagLoading == 0 {
		t.Fatalf("%d %s", got.status, got.body)
	}
	r.must("PATCH", hook+"/messages/@original", object{"content": "one"})
	two := r.must("POST", hook, object{"content": "two"})
	r.must("PATCH", hook+"/messages/"+two.ID, object{"content": "two!"})
	other := r.must("POST", "/channels/"+r.DM(r.user).ID+"/messages", object{"content": "elsewhere"})
	r.refused(r.call("PATCH", hook+"/messages/"+other.ID, object{"content": "x"}), 404, 10008)
	same(t, "shown", contents(r.BotMessages(r.channel)), []string{"one", "two!"})
	r.must("DELETE", hook+"/messages/@original", nil)
	same(t, "shown", contents(r.BotMessages(r.channel)), []string{"two!"})
	r.refused(r.call("GET", hook+"/messages/@original", nil), 404, 10008)
	r.AdvanceClock(16 * time.Minute)
	r.refused(r.call("POST", hook, object{"content": "late"}), 401, 50027)
}

func TestTheFirstFollowupFillsThePromise(t *testing.T) {
	r := newRig(t)
	i := r.slash()
	r.answer(i, object{"type": 5})
	r.must("POST", "/webhooks/"+r.ApplicationID+"/"+i.Token, object{"content": "filled"})
	if shown := r.BotMessages(r.channel); len(shown) != 1 || shown[0].Content != "filled" || shown[0].Flags != 0 {
		t.Errorf("shown: %+v", shown)
	}
}

func TestAnInteractionIsOverAfterThreeSeconds(t *testing.T) {
	r := newRig(t)
	i := r.slash()
	r.AdvanceClock(3 * time.Second)
	r.refused(r.answer(i, object{"type": 5}), 404, 10062)
	r.refused(r.answer(discordtest.Interaction{ID: i.ID, Token: "no"}, object{"type": 5}), 404, 10062)
	if r.Interaction(i.ID).Type != 0 {
		t.Error("it is answered")
	}
}

func TestButtonsAndMenus(t *testing.T) {
	r := newRig(t)
	m := r.send(object{"content": "?", "components": []object{
		rowOf(button("yes"), object{"type": 2, "style": 2, "label": "no", "custom_id": "no", "disabled": true}),
		rowOf(object{"type": 3, "custom_id": "menu", "options": []object{{"label": "A", "value": "a"}}}),
	}})
	for _, wrong := range [][]string{{"other"}, {"no"}, {"yes", "value"}, {"menu"}, {"menu", "b"}, {"menu", "a", "a"}} {
		if _, err := r.UserPresses(r.user, m.ID, wrong[0], wrong[1:]...); err == nil {
			t.Errorf("press %q works", wrong)
		}
	}
	i, err := r.UserPresses(r.user, m.ID, "yes")
	if err != nil {
		t.Fatal(err)
	}
	r.answer(i, object{"type": 7, "data": object{"content": "yes it is", "components": []object{}}})
	if got := r.BotMessages(r.channel)[0]; got.Content != "yes it is" || len(got.Components) != 0 || got.Edits != 1 {
		t.Errorf("shown: %+v", got)
	}
	if _, err := r.UserPresses(r.user, m.ID, "yes"); err == nil {
		t.Error("a button that is gone can be pressed")
	}
	slash := r.slash()
	r.refused(r.answer(slash, object{"type": 7, "data": object{"content": "x"}}), 400, 50035)
	r.violated("does not answer this")
	if got := r.answer(slash, object{"type": 5}); got.status != 204 {
		t.Errorf("after a refused answer: %d", got.status)
	}
}

func TestOnlyWhatIsRegisteredCanBeCalled(t *testing.T) {
	r := newRig(t)
	r.slash()
	for command, options := range map[string]map[string]any{
		"other": nil, "ask": nil,
	} {
		if _, err := r.UserRunsCommand(r.channel, r.user, command, options); err == nil {
			t.Errorf("%s %v works", command, options)
		}
	}
	if _, err := r.UserRunsCommand(r.channel, r.user, "ask", map[string]any{"text": "x", "more": 1}); err == nil {
		t.Error("an option that does not exist works")
	}
}

func TestACommandReachesTheBotWithItsOptionsAndFiles(t *testing.T) {
	r := newRig(t)
	r.must("PUT", "/applications/"+r.ApplicationID+"/commands", []object{{
		"name": "see", "description": "it", "options": []object{
			{"type": 3, "name": "text", "description": "what"}, {"type": 11, "name": "file", "description": "which"},
		},
	}})
	r.SetUploadLimit(r.guild, 50<<20)
	w := r.dial()
	r.identify(w, guilds)
	world := into[struct {
		Tier  int `json:"premium_tier"`
		Roles []struct {
			Tags struct {
				Bot string `json:"bot_id"`
			}
		}
	}](t, w.until("GUILD_CREATE").Data)
	if world.Tier != 2 || world.Roles[1].Tags.Bot != r.Bot.ID {
		t.Errorf("%+v", world)
	}
	_, err := r.UserRunsCommand(r.channel, r.user, "see", map[string]any{"file": discordtest.File{Name: "a.txt", Content: []byte("A")}, "text": "this"})
	if err != nil {
		t.Fatal(err)
	}
	got := into[struct {
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
	}](t, w.until("INTERACTION_CREATE").Data)
	if got.Limit != 50<<20 || got.Member.User.ID != r.user || got.Data.Options[0].Value != "this" {
		t.Errorf("%+v", got)
	}
	if _, body, err := r.get(got.Data.Resolved.Attachments[got.Data.Options[1].Value].URL); err != nil || string(body) != "A" {
		t.Errorf("%q %v", body, err)
	}
}
