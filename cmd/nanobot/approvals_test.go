package main

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// gateRunbook is a runbook whose only step needs two people.
const gateRunbook = "# Deploy\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Deploy to production?\",\"approvals\":2}}}\n```\n"

// writeGate writes the runbook beside a config.
func writeGate(t *testing.T, cfg string) {
	t.Helper()
	dir := filepath.Join(filepath.Dir(cfg), "runbooks")
	musttest.Do(t, os.MkdirAll(dir, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "deploy.md"), []byte(gateRunbook), 0o600))
}

// gateScene is a chat with the question of the runbook.
type gateScene struct {
	t *testing.T
	// approve makes a person press Approve, and returns what only this person is told, if anything.
	approve func(person, words string) (told string)
	// await waits until a message to everybody has the words, and returns all such messages.
	await func(words string) []string
}

// play presses the button for each person, and returns what people see.
func (s gateScene) play(people ...string) string {
	s.t.Helper()
	out := new(strings.Builder)
	show := func(words string) {
		out.WriteString("Everybody sees:\n\n")
		for _, text := range s.await(words) {
			if strings.HasPrefix(strings.TrimSpace(text), "⏳") {
				s.t.Errorf("there is a board: %q", text)
			}
			fmt.Fprintf(out, "````text\n%s\n````\n\n", strings.TrimSpace(text))
		}
	}
	tell := func(person, words string) {
		fmt.Fprintf(out, "%s presses Approve, and only %s sees: “%s”\n\n", person, person, s.approve(person, words))
	}
	show("2 people have to approve.")
	if slices.Contains(people, "Eve") {
		tell("Eve", "Only approvers")
	}
	tell("Ada", "1 of 2 approvals.")
	show("1 of 2 approved: ")
	tell("Ada", "You have approved already.")
	if slices.Contains(people, "Ben") {
		s.approve("Ben", "")
		question := s.await("→")[0]
		fmt.Fprintf(out, "Ben presses Approve, and the question ends:\n\n````text\n%s\n````\n\n", strings.TrimSpace(question))
	}
	return out.String()
}

func TestTheExampleOfAQuestionThatTwoPeopleAnswer(t *testing.T) {
	killtest.SkipIfShort(t)
	t.Parallel()
	page := new(strings.Builder)
	page.WriteString("# A question that two people answer\n\nA step of a runbook needs two approvals. Ada and Ben are approvers, Eve is not. A chat of the web page has one\nperson only, and its messages do not change; who has approved is a message of its own there.\n`TestTheExampleOfAQuestionThatTwoPeopleAnswer` writes this page.\n")
	for _, network := range []struct {
		name   string
		open   func(*testing.T) gateScene
		people []string
	}{
		{"Telegram, with toasts", gateOnTelegram, []string{"Ada", "Ben", "Eve"}},
		{"Discord, with ephemeral messages", gateOnDiscord, []string{"Ada", "Ben", "Eve"}},
		{"The web page, with a notice beside the title", gateOnThePage, []string{"Ada"}},
	} {
		t.Run(network.name, func(t *testing.T) {
			fmt.Fprintf(page, "\n## %s\n\n%s", network.name, network.open(t).play(network.people...))
		})
	}
	got := strings.ReplaceAll(page.String(), "\n\n\n", "\n\n")
	wanttest.File(t, examplePath("approvals"), strings.TrimSpace(got)+"\n", *update)
}

func gateOnTelegram(t *testing.T) gateScene {
	ids := map[string]int64{"Ada": 7, "Ben": 8, "Eve": 9}
	b := startTelegramBot(t, telegramSetup{agent: echo, terminal: `, "progress": "off"`, allow: `7", "8", "9`, gateway: `}, "runbooks": {"approvers": ["telegram:7", "telegram:8"]`})
	writeGate(t, b.cfg)
	for name, id := range ids {
		b.api.AddUser(telegramtest.User{ID: id, FirstName: name})
	}
	b.api.AddChat(telegramtest.Chat{ID: oldGroup})
	b.api.UserPosts(telegramtest.UserPost{Chat: oldGroup, From: 9, Text: "/run deploy"})
	var question telegramtest.Message
	await := func(words string) (texts []string) {
		t.Helper()
		shown, ok := b.api.AwaitMessages(oldGroup, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			return len(all) > 0 && strings.Contains(all[0].TextOrCaption(), words)
		})
		if !ok {
			t.Fatalf("%q is not shown: %q", words, b.texts(oldGroup))
		}
		question = shown[0]
		for _, m := range shown {
			texts = append(texts, m.TextOrCaption())
		}
		return texts
	}
	approve := func(person, _ string) string {
		query := b.api.UserPresses(oldGroup, ids[person], question.ID, question.Buttons()[0].Data)
		b.awaitAcknowledgement(query)
		answer, _ := b.api.QueryAnswer(query)
		return answer.Text
	}
	return gateScene{t, approve, await}
}

func gateOnDiscord(t *testing.T) gateScene {
	ids := map[string]string{"Ada": ada, "Ben": bob, "Eve": "4400000000000000044"}
	b := startDiscordBot(t, discordSetup{agent: echo, terminal: `, "progress": "off"`, allow: []string{ids["Ada"], ids["Ben"], ids["Eve"]}, gateway: `}, "runbooks": {"approvers": ["discord:` + ada + `", "discord:` + bob + `"]`})
	writeGate(t, b.cfg)
	for name, id := range ids {
		b.api.AddUser(discordtest.User{ID: id, Username: strings.ToLower(name), GlobalName: name})
	}
	channel := b.api.AddChannel(b.api.AddGuild("home").ID, "general").ID
	b.api.UserSends(channel, ids["Eve"], "<@"+b.api.Bot.ID+"> /run deploy")
	var question discordtest.Message
	awaitOne := func(isIt func(discordtest.Message) bool) (found discordtest.Message, all []discordtest.Message) {
		t.Helper()
		all, ok := b.api.AwaitMessages(channel, discordtest.WaitLimit, func(all []discordtest.Message) bool {
			i := slices.IndexFunc(all, isIt)
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		if !ok {
			t.Fatalf("shown is %+v", all)
		}
		return found, all
	}
	await := func(words string) (texts []string) {
		t.Helper()
		var all []discordtest.Message
		question, all = awaitOne(func(m discordtest.Message) bool { return m.VisibleTo == "" && strings.Contains(m.Content, words) })
		for _, m := range all {
			if m.VisibleTo == "" {
				texts = append(texts, m.Content)
			}
		}
		return texts
	}
	approve := func(person, words string) string {
		t.Helper()
		musttest.Get(b.api.UserPresses(ids[person], question.ID, question.Buttons()[0].CustomID))(t)
		if words == "" {
			return ""
		}
		told, _ := awaitOne(func(m discordtest.Message) bool {
			return m.VisibleTo == ids[person] && strings.Contains(m.Content, words)
		})
		return told.Content
	}
	return gateScene{t, approve, await}
}

func gateOnThePage(t *testing.T) gateScene {
	b := newWebBotWith(t, `"command": "sh agent.sh", "protocol": "rich", "progress": "off"`)
	writeGate(t, b.cfg)
	notices := make(chan string, 10)
	c := b.watchWith("Ada", func(e webEvent) {
		if e.name == "notice" {
			notices <- e.data.Text
		}
	})
	c.write("/run deploy")
	var question watchedMessage
	await := func(words string) (texts []string) {
		t.Helper()
		shown, ok := c.await(func(all []watchedMessage) bool {
			return slices.ContainsFunc(all, func(m watchedMessage) bool { return strings.Contains(m.text, words) })
		})
		if !ok {
			t.Fatalf("%q is not shown: %+v", words, shown)
		}
		for _, m := range shown {
			if slices.Contains(m.buttons, "Approve") {
				question = m
			}
			texts = append(texts, m.text)
		}
		return texts
	}
	approve := func(string, string) string {
		question.press("Approve")
		return <-notices
	}
	return gateScene{t, approve, await}
}
