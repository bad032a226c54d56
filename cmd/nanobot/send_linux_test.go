package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/posts"
	"nanobot/gateway/toolsocket"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// post runs send or ask with the config of a bot, and returns what it says on stderr, and its
// status.
func (b *telegramBot) post(args ...string) (said string, status int) {
	b.t.Helper()
	return runPost(b.t, programCommand(b.t, append(args, "--config", b.cfg)...))
}

// runPost runs a command that prints nothing on stdout.
func runPost(t *testing.T, cmd *exec.Cmd) (said string, status int) {
	t.Helper()
	var out, err bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &err
	_ = cmd.Run()
	wanttest.Equal(t, "stdout", out.String(), "")
	return err.String(), cmd.ProcessState.ExitCode()
}

// mustPost is post for a message that is accepted.
func (b *telegramBot) mustPost(args ...string) {
	b.t.Helper()
	if said, status := b.post(args...); status != 0 || said != "" {
		b.t.Fatalf("%q: status %d, and says %s%s", args, status, said, b.log())
	}
}

// agentWithNanobot has the bot's agent run commands, in which nanobot is this program.
func agentWithNanobot(script string) string {
	return "nanobot() { NANOBOT_TEST_MAIN=1 '" + os.Args[0] + "' \"$@\"; }\n" + script
}

func TestSendPutsMarkdownFilesAndButtonsIntoAChatThatNobodyHasWrittenIn(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	dir := filepath.Dir(b.cfg)
	b.mustPost("send", "--chat", "telegram:7", "--wait", "The backup is **done**.")
	m := b.api.BotMessages(7)[0]
	if m.Text != "The backup is done." || len(m.Entities) != 1 {
		t.Errorf("the chat shows %+v", m)
	}
	b.mustPost("send", "--chat", "telegram:7", "--wait", "--silent", "--media", filepath.Join(dir, "a.png"), "--media", filepath.Join(dir, "b.png"), "two")
	groups := b.api.Calls("sendMediaGroup")
	if len(groups) != 1 || len(groups[0].Messages) != 2 || groups[0].Params["disable_notification"] != "true" {
		t.Errorf("the files were sent as %+v", groups)
	}
	b.mustPost("send", "--chat", "telegram:7", "--wait", "--buttons", "Again, /whoami ,/review it", "And now?")
	shown := b.api.WaitForText(t, 7, "And now?")
	wanttest.Equal(t, "the buttons are", strings.Join(buttonLabels(shown), "|"), "Again|/whoami|/review it")
	for i, want := range []string{"you said Again", "telegram:7", "you said /review it"} {
		b.api.UserPresses(7, 7, shown.ID, shown.Buttons()[i].Data)
		if _, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			return strings.Contains(all[len(all)-1].TextOrCaption(), want)
		}); !ok {
			t.Errorf("after a press of button %d the chat shows %q", i+1, b.texts(7))
		}
	}
}

func TestTheTextOfSendAndAskIsReadFromAPipe(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	for i, args := range [][]string{{"send", "-"}, {"send"}, {"ask"}} {
		cmd := programCommand(t, append(args, "--wait", "--chat", "telegram:7", "--config", b.cfg)...)
		cmd.Stdin = strings.NewReader("line " + string(rune('0'+i)) + " \xff\n")
		if said, status := runPost(t, cmd); status != 0 {
			t.Errorf("%q: status %d, %s", args, status, said)
		}
	}
	wanttest.Equal(t, "the chat shows", strings.Join(b.lasting(7), "|"), "line 0 \uFFFD|line 1 \uFFFD|you said line 2 \uFFFD")
	for _, text := range []string{"", " \n"} {
		cmd := programCommand(t, "send", "--chat", "telegram:7", "--config", b.cfg)
		cmd.Stdin = strings.NewReader(text)
		if said, status := runPost(t, cmd); status != exit.Usage || !strings.Contains(said, "no message") {
			t.Errorf("without a text: status %d, %s", status, said)
		}
	}
	cmd := programCommand(t, "send", "--chat", "telegram:7", "--config", b.cfg)
	cmd.Stdin = strings.NewReader(strings.Repeat("x", 2<<20))
	if said, status := runPost(t, cmd); status != exit.Usage || !strings.Contains(said, "--media") {
		t.Errorf("a text that is too long: status %d, %s", status, said)
	}
}

func TestAMessageWithAKeyIsSentOnce(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	for range 2 {
		b.mustPost("send", "--chat", "telegram:7", "--wait", "--key", "k", "one")
		b.mustPost("send", "--chat", "telegram:7", "--wait", "--key", "b", "--buttons", "A", "two")
		b.mustPost("ask", "--chat", "telegram:7", "--wait", "--key", "q", "--media", filepath.Join(filepath.Dir(b.cfg), "a.png"), "three")
	}
	wanttest.Equal(t, "the chat shows", strings.Join(b.lasting(7), "|"), "one|two|you said three")
	files := musttest.Get(filepath.Glob(filepath.Join(filepath.Dir(b.cfg), "users", "*", "*")))(t)
	if len(files) != 1 || !strings.HasSuffix(files[0], "-a.png") {
		t.Errorf("the folder of the chat has %q", files)
	}
}

func TestWrongChatsAndNetworksAreStatus2AndMissingDaemonsStatus1(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	check := func(want int, words string, args ...string) {
		t.Helper()
		if said, status := b.post(args...); status != want || !strings.Contains(said, words) {
			t.Errorf("%q: status %d, and says %s", args, status, said)
		}
	}
	b.awaitLog("ready")
	for range 2 { // with the daemon, and without
		check(exit.Usage, "discord", "send", "--chat", "discord:7", "x")
		check(exit.Usage, "nonsense", "ask", "--chat", "nonsense:7", "x")
		check(exit.Usage, "CHANNEL:ID", "send", "--chat", "telegram", "x")
		check(exit.Usage, "no such file", "send", "--chat", "telegram:7", "--media", "/nowhere", "x")
		check(exit.Usage, "not a file", "send", "--chat", "telegram:7", "--media", "/dev/zero", "x")
		check(exit.Usage, "has no text", "send", "--chat", "telegram:7", "--buttons", "A,,B", "x")
		if b.child.State() == nil {
			check(exit.Usage, "--chat", "send", "x")
			check(exit.Usage, "telegram:abc", "send", "--chat", "telegram:abc", "x")
			check(exit.Usage, "no such agent", "ask", "--chat", "telegram:7", "--agent", "nobody", "x")
			check(exit.Usage, "61 is the most", "send", "--chat", "telegram:7", "--buttons", "/run "+strings.Repeat("x", 60), "x")
			check(exit.Usage, "20 is the most", "send", "--chat", "telegram:7", "--buttons", strings.Repeat("A,", 20)+"A", "x")
			b.signal(syscall.SIGTERM)
			b.awaitExit()
		}
	}
	check(exit.Failed, "start it with nanobot serve", "send", "--chat", "telegram:7", "x")
}

func TestWaitSaysWhyAMessageWasNotDelivered(t *testing.T) {
	t.Parallel()
	listen := freeAddress(t)
	b := startTelegramBot(t, telegramSetup{
		agent: echo, channel: `}, "web": {"enabled": true`, gateway: `}, "http": {"listen": "` + listen + `", "token": "file:token"`,
	})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	b.api.Block(7)
	said, status := b.post("send", "--chat", "telegram:7", "--wait", "hello")
	if status != exit.Failed || !strings.Contains(said, "blocked by the user") {
		t.Errorf("status %d, and says %s", status, said)
	}
	said, status = b.post("send", "--chat", "telegram:999", "--wait", "hello")
	if status != exit.Failed || !strings.Contains(said, "chat not found") {
		t.Errorf("a chat that does not exist: status %d, and says %s", status, said)
	}
	b.mustPost("send", "--chat", "telegram:7", "not waited for")
	req := musttest.Get(http.NewRequestWithContext(t.Context(), http.MethodGet, "http://"+listen+"/api/undelivered", nil))(t)
	req.Header.Set("Authorization", "Bearer "+b.api.Token)
	resp := musttest.Get(http.DefaultClient.Do(req))(t)
	defer resp.Body.Close()
	if body := string(musttest.Get(io.ReadAll(resp.Body))(t)); !strings.Contains(body, "blocked by the user") {
		t.Errorf("undelivered are %d %s", resp.StatusCode, body)
	}
}

func TestTheEndOfTheWaitLeavesTheMessage(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	b.api.AddUser(telegramtest.User{ID: 8, FirstName: "Bob"})
	hang := make(chan struct{})
	b.api.SetFault(func(c telegramtest.Call) telegramtest.Fault {
		if c.Method == "sendMessage" {
			return telegramtest.Fault{HangUntil: hang}
		}
		return telegramtest.Fault{}
	})
	p := startProgram(t, "send", "--chat", "telegram:7", "--wait", "--config", b.cfg, "one")
	b.api.AwaitCalls("sendMessage", telegramtest.WaitLimit, func(all []telegramtest.Call) bool { return len(all) > 0 })
	p.signal(syscall.SIGINT)
	if status := p.awaitExit(); status != exit.Interrupted || !strings.Contains(p.log(), "on disk") {
		t.Errorf("Ctrl-C: status %d, and says %s", status, p.log())
	}
	p = startProgram(t, "send", "--chat", "telegram:8", "--wait", "--config", b.cfg, "two")
	b.api.AwaitCalls("sendMessage", telegramtest.WaitLimit, func(all []telegramtest.Call) bool { return len(all) > 1 })
	b.signal(syscall.SIGKILL)
	b.awaitExit()
	if status := p.awaitExit(); status != exit.Failed || !strings.Contains(p.log(), "on disk") {
		t.Errorf("a daemon that is killed: status %d, and says %s", status, p.log())
	}
	close(hang)
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.api.WaitForCount(t, 7, 1)
	b.api.WaitForCount(t, 8, 1)
}

func TestAFileThatTheNetworkDoesNotAcceptIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.awaitLog("ready")
	big := filepath.Join(t.TempDir(), "big.bin")
	musttest.Do(t, os.WriteFile(big, []byte("x"), 0o600))
	musttest.Do(t, os.Truncate(big, 3<<30))
	said, status := b.post("send", "--chat", "telegram:7", "--media", big, "x")
	if status != exit.Failed || !strings.Contains(said, "big.bin") || len(b.texts(7)) > 0 {
		t.Errorf("status %d, and says %s", status, said)
	}
}

func TestAProcessOfAnAgentReachesItsOwnChatOnly(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "plain", allow: `7", "8`, agent: agentWithNanobot(`read -r line; cd "$NANOBOT_USER_DATA_DIR" || exit
		case "$line" in
		*other*) nanobot send --chat telegram:8 stolen 2>&1; echo "status $?";;
		*own*) nanobot send --chat telegram:7 named && nanobot send plain; echo "status $?";;
		*files*) echo secret >mine.txt; nanobot send --media mine.txt yes && nanobot send --media /etc/hostname no 2>&1; echo "status $?";;
		*pass*) echo text >mine.txt; nanobot ask --media mine.txt; echo "status $?";;
		*mine.txt*) echo "got $(ls | grep -c -- '-mine.txt$')";;
		*buttons*) nanobot send --buttons /stop,A choose;;
		*wait*) nanobot ask --wait more 2>&1; echo "status $?";;
		*queue*) nanobot ask later; echo "status $?";;
		*) echo "heard";; esac`)})
	b.api.AddUser(telegramtest.User{ID: 8, FirstName: "Bob"})
	for text, want := range map[string][]string{
		"other": {"can write only to its own chat, telegram:7", "status 1"}, "own": {"named", "plain", "status 0"},
		"files": {"yes", "outside the folders", "status 1"}, "wait": {"leave it out", "status 1"}, "queue": {"status 0", "heard"},
		"pass": {"status 0", "got 1"}, "buttons": {"choose"},
	} {
		last := 0
		for _, m := range b.api.BotMessages(7) {
			last = max(last, m.ID)
		}
		b.api.UserSends(7, text)
		if all, ok := b.api.AwaitMessages(7, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			shown := ""
			for _, m := range all {
				if m.ID > last {
					shown += m.TextOrCaption() + "\n"
				}
			}
			for _, w := range want {
				if !strings.Contains(shown, w) {
					return false
				}
			}
			return true
		}); !ok {
			t.Errorf("%s: the chat shows %+v\n%s", text, all, b.log())
		}
	}
	if got := b.texts(8); len(got) > 0 {
		t.Errorf("the other chat shows %q", got)
	}
	for _, button := range b.api.WaitForText(t, 7, "choose").Buttons() {
		if !strings.HasPrefix(button.Data, "say:") {
			t.Errorf("an agent's button %s is %s", button.Text, button.Data)
		}
	}
}

func TestAskGivesTheAgentTheFilesAndTheOrigin(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: `read -r line; printf '%s' "$line" >envelope; echo '{"type":"message","text":"done"}'`})
	b.api.AddUser(telegramtest.User{ID: 7, FirstName: "Ann"})
	b.awaitLog("ready")
	dir := filepath.Dir(b.cfg)
	b.mustPost("ask", "--chat", "telegram:7", "--agent", "default", "--wait", "--media", filepath.Join(dir, "a.png"), "look")
	var envelope struct {
		Text, Origin string
		Media        []string
	}
	found := musttest.Get(filepath.Glob(filepath.Join(dir, "**", "envelope")))(t)
	if len(found) == 0 {
		found = []string{filepath.Join(dir, "envelope")}
	}
	musttest.Do(t, json.Unmarshal(musttest.Get(os.ReadFile(found[0]))(t), &envelope))
	if envelope.Text != "look" || envelope.Origin != "ask" || len(envelope.Media) != 1 {
		t.Fatalf("the agent got %+v", envelope)
	}
	got, want := musttest.Get(os.ReadFile(envelope.Media[0]))(t), musttest.Get(os.ReadFile(filepath.Join(dir, "a.png")))(t)
	if !bytes.Equal(got, want) || !strings.HasPrefix(envelope.Media[0], dir) {
		t.Errorf("the agent got the file %s with %d bytes", envelope.Media[0], len(got))
	}
}

func TestAProcessOfAnotherUserCannotSend(t *testing.T) {
	t.Parallel()
	if os.Geteuid() != 0 {
		t.Skip("only root can start a process of another user")
	}
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.awaitLog("ready")
	dir := musttest.Get(os.MkdirTemp("", "nb"))(t) // which the user may enter
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	musttest.Do(t, os.Chmod(dir, 0o755))
	linkProgram(t, filepath.Join(dir, "nanobot"))
	musttest.Do(t, os.Chmod(filepath.Dir(filepath.Dir(b.socket())), 0o711)) // the folder of this test
	cmd := exec.Command(filepath.Join(dir, "nanobot"), "send", "--chat", "telegram:7", "x")
	cmd.Dir, cmd.Env = dir, append(environWithoutTestSettings(), "NANOBOT_TEST_MAIN=1", "NANOBOT_SOCKET="+b.socket())
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	if said, status := runPost(t, cmd); status != exit.Failed || !strings.Contains(said, "of another user (65534)") {
		t.Errorf("status %d, and says %s", status, said)
	}
}

// socket is the path of the daemon's socket.
func (b *telegramBot) socket() string {
	b.t.Helper()
	return strings.TrimSpace(string(musttest.Get(os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "socket")))(b.t)))
}

func TestADescriptorThatIsNoRegularFileIsRefusedAtOnce(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.awaitLog("ready")
	dir := t.TempDir()
	musttest.Do(t, syscall.Mkfifo(filepath.Join(dir, "fifo"), 0o600))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "empty"), nil, 0o600))
	for path, want := range map[string]string{
		filepath.Join(dir, "fifo"): "not a regular file", dir: "not a regular file", "/dev/zero": "not a regular file",
		filepath.Join(dir, "empty"): "is empty",
	} {
		for _, ask := range []bool{false, true} {
			conn, _, err := toolsocket.DialPost(t.Context(), b.socket(), toolsocket.Hello{})
			musttest.Do(t, err)
			f := musttest.Get(os.OpenFile(path, os.O_RDONLY|syscall.O_NONBLOCK, 0))(t)
			r := posts.Request{Ask: ask, Chat: "telegram:7", Text: "x", Files: []string{"../x"}}
			musttest.Do(t, r.Send(conn, []*os.File{f}))
			reply := musttest.Get(posts.ReceiveReply(bufio.NewReader(conn)))(t)
			if !strings.Contains(reply.Error, want) && (!ask || want != "is empty") {
				t.Errorf("%s: the reply is %+v", path, reply)
			}
			_, _ = f.Close(), conn.Close()
		}
	}
	wanttest.Equal(t, "files that were sent", len(b.api.Calls("sendDocument")), 0)
}

func TestTheTokenOfAChatIsTheDefaultOfTheOperator(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{protocol: "plain", agent: `echo "token $NANOBOT_CHAT_TOKEN"`})
	b.api.UserSends(7, "hi")
	token := strings.TrimPrefix(b.api.WaitForCount(t, 7, 1)[0].Text, "token ")
	cmd := programCommand(t, "send", "--wait", "--config", b.cfg, "by token")
	cmd.Env = append(cmd.Env, "NANOBOT_CHAT_TOKEN="+token)
	if said, status := runPost(t, cmd); status != 0 {
		t.Errorf("status %d, and says %s", status, said)
	}
	b.api.WaitForText(t, 7, "by token")
}

func TestAPressedCommandIsCarriedOutForPeopleWithAccessOnly(t *testing.T) {
	t.Parallel()
	b := &telegramBot{api: telegramtest.New(t)}
	b.cfg = telegramSetup{agent: echo}.writeConfig(t, b.api)
	runbooks := filepath.Join(filepath.Dir(b.cfg), "runbooks")
	musttest.Do(t, os.Mkdir(runbooks, 0o700))
	musttest.Do(t, os.WriteFile(filepath.Join(runbooks, "restart-nginx.md"), []byte("# Restart nginx\n\n## Restart\n\nDo it.\n"), 0o600))
	b.program = startProgram(t, "serve", "--config", b.cfg)
	b.awaitLog("ready")
	for user, want := range map[int64]string{7: "you said Runbook", 8: "nanobot pair "} {
		b.api.AddUser(telegramtest.User{ID: user, FirstName: "Ann"})
		b.mustPost("send", "--chat", fmt.Sprint("telegram:", user), "--wait", "--buttons", "/run restart-nginx", "nginx is down")
		m := b.api.WaitForText(t, user, "nginx is down")
		b.api.UserPresses(user, user, m.ID, m.Buttons()[0].Data)
		if _, ok := b.api.AwaitMessages(user, telegramtest.WaitLimit, func(all []telegramtest.Message) bool {
			return len(all) > 1 && strings.Contains(all[1].TextOrCaption(), want)
		}); !ok {
			t.Errorf("user %d is shown %q", user, b.texts(user))
		}
	}
}

func TestAMessageForAChatOfThePageIsShownThere(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	page := b.signIn("--role", "operator")
	for _, kind := range []string{"send", "ask"} {
		args := []string{kind, "--chat", "web:web-from-a-script-1", "--wait", "--config", b.cfg, "--media", b.cfg, "**hello**"}
		if said, status := runPost(t, programCommand(t, args...)); status != 0 {
			t.Fatalf("%s: status %d, and says %s", kind, status, said)
		}
	}
	_, body := page.request("GET", "/api/chats/web-from-a-script-1/messages", "", nil)
	if !strings.Contains(body, `"text":"**hello**"`) || !strings.Contains(body, `"text":"re ****hello****"`) {
		t.Errorf("the page shows %s", body)
	}
	if files := musttest.Get(filepath.Glob(filepath.Join(filepath.Dir(b.cfg), "users", "*", "*-config.json")))(t); len(files) != 1 {
		t.Errorf("the agent got %q", files)
	}
	if !strings.Contains(body, `"name":"config.json"`) {
		t.Errorf("the page shows no file: %s", body)
	}
	if _, list := page.request("GET", "/api/chats", "", nil); !strings.Contains(list, "web-from-a-script-1") {
		t.Errorf("the chats are %s", list)
	}
}
