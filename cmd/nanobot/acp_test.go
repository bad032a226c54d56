package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"nanobot/channels/discord/discordtest"
	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal/acp/acptest"
)

// acpAgent is the command of an agent that does what its prompt says, and fails the test if its
// client is wrong.
func acpAgent(t *testing.T, flags string) string {
	t.Helper()
	dir := t.TempDir()
	t.Cleanup(func() {
		wanttest.Equal(t, "the agent was told nonsense:", acptest.Violation(dir), "")
	})
	return fmt.Sprintf("TEST_ACP_AGENT=1 exec %s -dir %s %s", os.Args[0], dir, flags)
}

// awaitMessage waits until a chat shows a message with these words, and returns it.
func (b *telegramBot) awaitMessage(chat int64, words string) telegramtest.Message {
	b.t.Helper()
	var found telegramtest.Message
	shown, ok := b.api.AwaitMessages(chat, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		i := slices.IndexFunc(all, func(m telegramtest.Message) bool { return strings.Contains(m.TextOrCaption(), words) })
		if i >= 0 {
			found = all[i]
		}
		return i >= 0
	})
	if !ok {
		b.t.Fatalf("nothing with %q is shown: %+v\n%s", words, shown, b.log())
	}
	return found
}

// pressButton presses the button with this label.
func (b *telegramBot) pressButton(m telegramtest.Message, label string) {
	b.t.Helper()
	for _, button := range m.Buttons() {
		if button.Text == label {
			b.awaitAcknowledgement(b.api.UserPresses(7, 7, m.ID, button.Data))
			return
		}
	}
	b.t.Fatalf("%q has no button %q: %+v", m.TextOrCaption(), label, m.Buttons())
}

func TestAnACPAgentOnTelegramStreamsShowsAsksAndStops(t *testing.T) {
	t.Parallel()
	signal := filepath.Join(t.TempDir(), "go")
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-resume -repeats -noisy")})
	b.api.UserSends(7, "say Looking at it.\ntool t1 execute make test\nstatus t1 in_progress\nuntil "+signal+"\nask t1 execute make test\nstatus t1 completed\nsay All **done**.")
	b.awaitMessage(7, "Looking at it.")
	b.awaitMessage(7, "make test")
	musttest.Do(t, os.WriteFile(signal, nil, 0o600))
	question := b.awaitShown(7, "🔐", true)
	b.pressButton(question, "Allow once")
	b.awaitMessage(7, "permission selected yes")
	final := b.awaitMessage(7, "All done.")
	// The question and the answer stay, and the folded board. The remark is part of the board.
	shown, settled := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
		folds := slices.DeleteFunc(slices.Clone(all), func(m telegramtest.Message) bool { return !strings.Contains(m.TextOrCaption(), "✓ 1 step") })
		return len(all) == 3 && len(folds) == 1
	})
	if !settled || len(final.Buttons()) != 0 {
		t.Errorf("the chat ends with %+v", shown)
	}
	// A command that hangs is freed by /stop, and the same agent goes on.
	b.api.UserSends(7, "tool t2 fetch a page\npid\nawait")
	b.awaitMessage(7, "a page")
	b.api.UserSends(7, "/stop")
	b.awaitMessage(7, "Stopped.")
	pid := regexp.MustCompile(`pid \d+`).FindString(b.awaitMessage(7, "pid ").TextOrCaption())
	b.api.UserSends(7, "history\npid")
	if words := b.awaitMessage(7, "prompts so far: 3").TextOrCaption(); pid == "" || !strings.Contains(words, pid) {
		t.Errorf("the agent was started again: %q, then %q", pid, words)
	}
	b.signal(syscall.SIGTERM)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
}

func TestFilesThatAnACPAgentLinksToArriveAsAlbums(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "")})
	for _, name := range []string{"one.csv", "two.csv"} {
		musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.cfg), name), []byte("1,2\n"), 0o600))
	}
	b.api.UserSends(7, "say Two plots: ![first](a.png), ![second](b.png), the numbers [one](one.csv) and [two](two.csv), made by [code](one.csv:1).")
	b.awaitMessage(7, "Two plots")
	calls, ok := b.api.AwaitCalls("sendMediaGroup", telegramtest.WaitLimit, func(c []telegramtest.Call) bool { return len(c) == 2 && c[1].Done })
	if !ok || len(calls[0].Messages) != 2 || len(calls[1].Messages) != 2 {
		t.Fatalf("the albums are %+v\n%s", calls, b.log())
	}
	shown, _ := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool { return len(all) == 4 })
	for i, m := range shown {
		if isPhoto := len(m.Photo) > 0; isPhoto != (i < 2) || (m.Document != nil) == isPhoto || m.MediaGroupID == "" {
			t.Errorf("message %d is %+v", i, m)
		}
	}
}

func TestAnACPAgentOnTelegramIsAskedForItsSessionsAndModels(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-resume -list -configs -early")})
	b.api.UserSends(7, "first talk")
	b.awaitMessage(7, "You said: first talk")
	b.api.UserSends(7, "/model")
	b.pressButton(b.awaitShown(7, "Which model?", true), "Large")
	b.awaitMessage(7, "arge")
	b.api.UserSends(7, "state")
	b.awaitMessage(7, "model large")
	b.api.UserSends(7, "/new")
	b.awaitMessage(7, "This is a new conversation")
	b.api.UserSends(7, "history")
	b.awaitMessage(7, "prompts so far: 1")
	b.api.UserSends(7, "/help")
	b.awaitMessage(7, "/review")
	b.api.UserSends(7, "/sessions")
	question := b.awaitShown(7, "Which conversation", true)
	i := slices.IndexFunc(question.Buttons(), func(k telegramtest.Button) bool { return strings.Contains(k.Text, "first talk") })
	if i < 0 {
		t.Fatalf("the session cannot be chosen: %+v", question)
	}
	b.pressButton(question, question.Buttons()[i].Text)
	b.api.UserSends(7, "state\nhistory")
	b.awaitMessage(7, "prompts so far: 3") // first talk, state, and this one
}

// processExists reports whether a process exists.
func processExists(pid int) bool { return syscall.Kill(pid, 0) == nil }

func TestAnACPAgentIsGoneWithAKilledDaemonAndItsSessionIsResumed(t *testing.T) {
	t.Parallel()
	pidFile := filepath.Join(t.TempDir(), "pid")
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: "echo $$ >" + pidFile + "; " + acpAgent(t, "-resume")})
	b.api.UserSends(7, "embed t1 sleep 300\nawait")
	b.awaitMessage(7, "sleep 300")
	raw := musttest.Get(os.ReadFile(pidFile))(t)
	pid, _ := strconv.Atoi(strings.TrimSpace(string(raw)))
	b.restart(syscall.SIGKILL, func() {})
	if report := b.awaitMessage(7, "I was restarted while working on this."); report.ReplyTo == nil || !strings.HasPrefix(report.ReplyTo.Text, "embed t1") {
		t.Errorf("the report answers %+v", report.ReplyTo)
	}
	for deadline := time.Now().Add(telegramtest.WaitLimit); processExists(pid); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(deadline) {
			t.Fatalf("the agent %d outlives the daemon", pid)
		}
	}
	b.api.UserSends(7, "history")
	b.awaitMessage(7, "prompts so far: 2")
}

func TestAnACPAgentThatIsKilledIsResumed(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: acpAgent(t, "-load")})
	b.api.UserSends(7, "say half an ans\ndie")
	b.awaitMessage(7, "half an ans")
	b.awaitMessage(7, "Your next message resumes the conversation.")
	b.api.UserSends(7, "history")
	b.awaitMessage(7, "prompts so far: 2")
	for _, text := range b.texts(7) {
		if strings.Contains(text, "REPLAYED") {
			t.Errorf("what was said before is said again: %q", text)
		}
	}
}

func TestAnACPAgentOnDiscordStreamsShowsAsksAndStops(t *testing.T) {
	t.Parallel()
	b := startDiscordBot(t, discordSetup{protocol: "acp", command: acpAgent(t, "-resume")})
	shows := func(words string) (found discordtest.Message) {
		t.Helper()
		shown, ok := b.api.AwaitMessages(b.dm, discordtest.WaitLimit, func(all []discordtest.Message) bool {
			i := slices.IndexFunc(all, func(m discordtest.Message) bool { return strings.Contains(m.Content, words) })
			if i >= 0 {
				found = all[i]
			}
			return i >= 0
		})
		if !ok {
			t.Fatalf("nothing with %q is shown: %+v", words, shown)
		}
		return found
	}
	b.api.UserSends(b.dm, ada, "say Let me see.\ntool t1 edit main.go\nask t1 edit main.go\nstatus t1 completed\nsay Changed.")
	question := shows("🔐")
	reject := question.Buttons()[slices.IndexFunc(question.Buttons(), func(k discordtest.Component) bool { return k.Label == "Reject" })]
	musttest.Get(b.api.UserPresses(ada, question.ID, reject.CustomID))(t)
	shows("permission selected no")
	shows("Changed.")
	b.api.UserSends(b.dm, ada, "tool t2 fetch a page\nawait")
	shows("a page")
	b.api.UserSends(b.dm, ada, "/stop")
	shows("Stopped.")
	b.api.UserSends(b.dm, ada, "history")
	shows("prompts so far: 3")
	b.stop()
}

func TestAKeptAgentEndsWithThePersonsAccess(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "acp", command: "echo $$ >> pids; " + acpAgent(t, "-resume")})
	b.awaitLog("ready")
	b.mustRunPair("telegram:8")
	b.api.UserSends(8, "say from the admitted user")
	b.awaitMessage(8, "from the admitted user")
	admitted := b.awaitFile("pids")[0]
	b.api.UserSends(7, "say from the owner")
	b.awaitMessage(7, "from the owner")
	pids := b.awaitFile("pids")
	if len(pids) != 2 {
		t.Fatalf("the agents are %q", pids)
	}
	b.mustRunPair("--revoke", "telegram:8")
	b.awaitProcessExit(admitted)
	if pid, _ := strconv.Atoi(pids[1]); !processExists(pid) {
		t.Error("the agent of another chat has ended as well")
	}
}
