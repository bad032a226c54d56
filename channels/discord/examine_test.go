package discord_test

import (
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/channels/channelstest"
	"nanobot/channels/discord"
	"nanobot/channels/discord/discordtest"
	"nanobot/internal/musttest"
)

// examineChannel asks a bot that does not run about itself, and returns what was found by check.
func examineChannel(t *testing.T, s *discordtest.Server, change ...func(*discord.Options)) map[string]channels.Finding {
	t.Helper()
	o := discord.Options{Token: s.Token, APIBase: s.URL, Folder: channelstest.ChatFolders(t.TempDir())}
	for _, c := range change {
		c(&o)
	}
	c := musttest.Get(discord.New(o))(t)
	return channelstest.FindingsByCheck(t, c.Examine(t.Context(), channels.ExamineOptions{}), o.Token)
}

func expectFinding(t *testing.T, found map[string]channels.Finding, check string, status channels.Verdict, words string) {
	t.Helper()
	channelstest.ExpectFinding(t, found, channels.Finding{Check: check, Status: status, Detail: words})
}

func TestExamineOfAWorkingBot(t *testing.T) {
	s := discordtest.New(t)
	found := examineChannel(t, s)
	expectFinding(t, found, "discord.token", channels.Good, s.Bot.Username)
	expectFinding(t, found, "discord.intents", channels.Good, "on")
	expectFinding(t, found, "discord.clock", channels.Good, "agrees")
}

func TestExamineNamesTheDisabledIntent(t *testing.T) {
	s := discordtest.New(t)
	s.SetPrivilegedIntents(0)
	found := examineChannel(t, s)
	expectFinding(t, found, "discord.intents", channels.Bad, "switched off")
	if !strings.Contains(found["discord.intents"].Fix, "Message Content Intent") {
		t.Errorf("the fix is %q", found["discord.intents"].Fix)
	}
}

func TestExamineReportsWhyTheNetworkIsUnreachable(t *testing.T) {
	for name, c := range map[string]struct {
		fault discordtest.Fault
		words string
	}{
		"a proxy's page": {discordtest.BadGateway(), "502"},
		"a cut":          {discordtest.Fault{CutBefore: true}, "GET /applications/@me"},
		"half an answer": {discordtest.TruncatedJSON(), "not from Discord"},
		"too many calls": {discordtest.RateLimited(time.Second), "429"},
	} {
		t.Run(name, func(t *testing.T) {
			s := discordtest.New(t)
			s.FailNext(discordtest.GetMyApp, c.fault)
			expectFinding(t, examineChannel(t, s), "discord.token", channels.Bad, c.words)
		})
	}
}
