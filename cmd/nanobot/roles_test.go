package main

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/gateway/access"
	"nanobot/gateway/intake"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/role"
)

// What menus describe and is no command of its own: the command of a rule and Discord's /ask are
// talk, and those of nanobot chat are for the person at the terminal.
var noCommands = []string{"route", "ask", "asktext", "askfile", "argument", "chatstatus", "chatstop", "chatquit"}

func TestEveryCommandHasARowInTheTableOfRoles(t *testing.T) {
	names := intake.CommandNames()
	for _, key := range extensions().Words.Keys {
		if name, found := strings.CutPrefix(key, "help"); found {
			names = append(names, strings.ToLower(name))
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(noCommands, name) })
	if len(names) < 35 {
		t.Fatalf("there are only %q", names)
	}
	for _, name := range names {
		if role.OfCommand(name) == role.Talk {
			t.Errorf("/%s has no row", name)
		}
	}
}

// replaceInConfig changes the config.
func (b *telegramBot) replaceInConfig(old, with string) {
	b.t.Helper()
	text := string(musttest.Get(os.ReadFile(b.cfg))(b.t))
	if !strings.Contains(text, old) {
		b.t.Fatalf("the config has no %s", old)
	}
	musttest.Do(b.t, os.WriteFile(b.cfg, []byte(strings.Replace(text, old, with, 1)), 0o600))
}

func TestTelegramARoleSaysWhatAPersonMayDo(t *testing.T) {
	t.Parallel()
	const owner, approver, user, guest, group, other = int64(5), int64(6), int64(7), int64(8), int64(-77), int64(-78)
	b := startTelegramBot(t, telegramSetup{
		agent: strings.Replace(runsCommand, `*"Sequence: 1"*)`, `*"say hello"*) printf '[DONE]\nhello yourself\n[/DONE]\n';;
	*"Sequence: 1"*)`, 1), protocol: "blocks", allow: `5", "6", "7`, terminal: `, "progress": "off"`,
		gateway: `}, "roles": {"owner": ["telegram:5"], "approver": ["telegram:6"], "guest": []`,
	})
	for _, id := range []int64{group, other} {
		b.api.AddChat(telegramtest.Chat{ID: id})
	}
	if out := b.mustRunPair("--as", "guest", "telegram:8"); out != "telegram:8 has the role guest.\ntelegram:8 may talk to the bot now.\n" {
		t.Errorf("pair says %q", out)
	}
	if out := b.mustRunPair("--list"); !strings.Contains(out, ", role guest\n") {
		t.Errorf("--list prints %q", out)
	}
	for id, name := range map[int64]string{owner: "owner", approver: "approver", user: "user", guest: "guest"} {
		b.api.UserSends(id, "/whoami")
		b.api.WaitForText(t, id, fmt.Sprintf("user id: %[1]d\nchat: telegram:%[1]d\nrole: %s", id, name))
	}

	b.api.UserSends(guest, "/status")
	b.api.WaitForText(t, guest, "Your role here is guest, which does not include this.")
	b.api.UserSends(guest, "say hello")
	b.api.WaitForText(t, guest, "hello yourself")
	b.api.UserSends(user, "/stop")
	b.api.WaitForText(t, user, "Nothing is running.")

	b.api.UserPosts(telegramtest.UserPost{Chat: group, From: user, Text: "@nano_test_bot work"})
	question := b.awaitQuestion(group)
	yes := question.Buttons()[0].Data
	b.api.UserPresses(group, guest, question.ID, yes)
	b.awaitRefusals(group, 1)
	b.api.UserPresses(group, user, question.ID, yes)
	b.awaitRefusals(group, 2)
	b.api.UserPresses(group, approver, question.ID, yes)
	b.api.WaitForText(t, group, "it ran")

	b.mustRunPair("--revoke", "telegram:8")
	b.mustRunPair("telegram:8")
	b.api.UserSends(guest, "/whoami")
	b.api.WaitForText(t, guest, "user id: 8\nchat: telegram:8\nrole: user")

	b.replaceInConfig(`"approver": ["telegram:6"]`, `"approver": ["telegram:8"]`)
	musttest.Do(t, os.Remove(strings.TrimSuffix(b.cfg, "config.json")+"ran"))
	b.signal(syscall.SIGHUP)
	b.awaitLog("config reloaded")
	if out := b.mustRunPair("--as", "guest", "telegram:8"); !strings.Contains(out, "telegram:8 stays approver: roles.approver of "+b.cfg+" names them.\n") {
		t.Errorf("pair says %q", out)
	}
	b.api.UserPosts(telegramtest.UserPost{Chat: other, From: owner, Text: "@nano_test_bot again"})
	question = b.awaitQuestion(other)
	b.api.UserPresses(other, approver, question.ID, question.Buttons()[0].Data)
	b.awaitRefusals(other, 3)
	b.api.UserPresses(other, guest, question.ID, question.Buttons()[0].Data)
	b.awaitFile("ran")
	b.stopCleanly()
}

func TestTelegramAGuestIsOneFromTheFirstMessage(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo, gateway: `}, "roles": {"owner": ["telegram:7"]`})
	b.api.UserSends(8, "/status")
	code := b.awaitPairingCode(8)
	b.mustRunPair("--as", "guest", strings.ToLower(code))
	b.api.WaitForText(t, 8, "Your role here is guest, which does not include this.")
	b.stopCleanly()
}

func TestARoleIsRefusedWithoutRolesAndOneThatDoesNotExist(t *testing.T) {
	b := newWebBot(t)
	for _, args := range [][]string{{"--user", "ann", "--as", "guest"}, {"--as", "admin"}} {
		if out, status := b.linkCommand(args...); status == 0 || !strings.Contains(out, "--as") {
			t.Errorf("%q prints %s, status %d", args, out, status)
		}
	}
	if all := b.grants(); len(all) > 0 {
		t.Errorf("there are links: %+v", all)
	}
}

func TestALinkGivesARoleInChatsUntilTheUserHasNoAccess(t *testing.T) {
	b := newWebBotWith(t, `"command": "sh agent.sh", "protocol": "rich"}, "roles": {"owner": ["web:operator"]`)
	p := b.signIn("--user", "ann", "--as", "guest")
	stored := func() string {
		s := b.openState()
		defer func() { musttest.Do(t, s.Close()) }()
		return musttest.Get(s.LoadRecord(t.Context(), access.RoleRecord(store.Person{Channel: "web", User: "ann"})))(t)
	}
	next := p.openEventStream()
	p.sendMessage("web-ann-known-to-nobody-else", "/new")
	for {
		if e := next("message"); e.data.From != "user" {
			if e.data.Text != "Your role here is guest, which does not include this." {
				t.Errorf("ann is told %q", e.data.Text)
			}
			break
		}
	}
	if got := stored(); got != "guest" {
		t.Errorf("stored: %q", got)
	}
	if out, status := b.linkCommand("--revoke", "ann"); status != 0 {
		t.Fatal(out)
	}
	if got := stored(); got != "" {
		t.Errorf("stored after the revocation: %q", got)
	}
}
