package discordtest_test

import (
	"slices"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/internal/wanttest"
)

func TestTheServerRecordsNotifiedUsers(t *testing.T) {
	bot := newTestBot(t)
	dm := bot.DM(bot.user).ID
	text := object{"content": "<@" + bot.user + ">"}
	quiet := object{"content": "<@" + bot.user + ">", "flags": discordtest.FlagSilent}
	for _, c := range []struct {
		channel string
		body    object
		want    []string
	}{
		{bot.channel, text, []string{bot.user}},
		{bot.channel, quiet, nil},
		{bot.channel, object{"content": "hello"}, nil},
		{dm, object{"content": "hello"}, []string{bot.user}},
		{dm, quiet, nil},
	} {
		bot.mustCall("POST", "/channels/"+c.channel+"/messages", c.body)
		all := bot.BotMessages(c.channel)
		m := all[len(all)-1]
		if !slices.Equal(m.Notified, c.want) || m.VisibleAt.IsZero() {
			t.Errorf("%v: notified are %q, visible since %v", c.body, m.Notified, m.VisibleAt)
		}
	}
}

func TestAnEditCannotMakeAMessageSilent(t *testing.T) {
	bot := newTestBot(t)
	id := bot.sendMessage(object{"content": "hello"}).ID
	bot.expectError(bot.callJSON("PATCH", "/channels/"+bot.channel+"/messages/"+id, object{"content": "hello", "flags": discordtest.FlagSilent}), 400, 50035)
	wanttest.Equal(t, "there are … violations:", len(bot.TakeViolations()), 1)
}

func TestAnEphemeralMessageIsSeenByOnePersonOnly(t *testing.T) {
	bot := newTestBot(t)
	i := bot.runCommand()
	bot.respond(i, object{"type": 5, "data": object{"flags": discordtest.FlagEphemeral}})
	m := bot.BotMessages(bot.channel)[0]
	if m.VisibleTo != bot.user || !m.VisibleAt.IsZero() {
		t.Errorf("it is seen by %q since %v", m.VisibleTo, m.VisibleAt)
	}
	button := object{"type": 1, "components": []object{{"type": 2, "style": 2, "label": "Go", "custom_id": "go"}}}
	bot.mustCall("PATCH", "/webhooks/"+bot.ApplicationID+"/"+i.Token+"/messages/@original", object{"content": "<@" + bot.user + ">", "components": []object{button}})
	if m = bot.BotMessages(bot.channel)[0]; m.VisibleAt.IsZero() || len(m.Notified) != 0 {
		t.Errorf("then it is visible since %v and notifies %q", m.VisibleAt, m.Notified)
	}
	if _, err := bot.UserPresses("4300000000000000043", m.ID, "go"); err == nil {
		t.Error("somebody else has pressed its button")
	}
	reply := object{"content": "a reply", "message_reference": object{"message_id": m.ID, "fail_if_not_exists": false}}
	if bot.sendMessage(reply); bot.BotMessages(bot.channel)[1].Reference != nil {
		t.Error("a message replies to it")
	}
	bot.expectError(bot.callJSON("PATCH", "/channels/"+bot.channel+"/messages/"+m.ID, object{"content": "edited"}), 404, 10008)
}

func TestALockedThreadTakesNoMessages(t *testing.T) {
	bot := newTestBot(t)
	thread := bot.AddThread(bot.channel, "a thread").ID
	send := func() reply { return bot.callJSON("POST", "/channels/"+thread+"/messages", object{"content": "hello"}) }
	bot.ArchiveThread(thread, false)
	if got := send(); got.status != 200 {
		t.Errorf("an archived thread answers %d %s", got.status, got.body)
	}
	bot.ArchiveThread(thread, true)
	bot.expectError(send(), 400, 160005)
}
