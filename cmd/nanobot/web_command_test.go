package main

import (
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"nanobot/cmd/nanobot/exit"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// webCommand returns the command line of "nanobot web" in a folder. Nothing opens a browser.
func webCommand(t *testing.T, dir string, args ...string) *exec.Cmd {
	t.Helper()
	cmd := programCommand(t, append([]string{"web"}, args...)...)
	cmd.Dir = dir
	cmd.Env = append(cmd.Env, "PATH=/usr/bin:/bin", "BROWSER=", "DISPLAY=")
	return cmd
}

// startWebCommand runs a command and returns it with the link that it prints.
func startWebCommand(t *testing.T, cmd *exec.Cmd) (b *webBot, link string) {
	t.Helper()
	b = &webBot{program: startCommand(t, cmd, t.TempDir()), t: t}
	return b, b.readLink()
}

// expectAnswer writes to the bot in a new chat.
func (b *webBot) expectAnswer(link, text, want string) {
	b.t.Helper()
	person := b.openLink(link)
	chat := person.newChat()
	person.sendMessage(chat, text)
	person.awaitAnswer(chat, want)
}

// failWeb runs a command that fails, and returns its status and what it says.
func failWeb(t *testing.T, cmd *exec.Cmd) (status int, said string) {
	t.Helper()
	p := startCommand(t, cmd, t.TempDir())
	status = p.awaitExit()
	return status, p.log()
}

func TestWebNeedsNeitherAHomeNorABrowser(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	cmd := webCommand(t, dir, "--no-browser", "pwd")
	cmd.Env = append(cmd.Env, "HOME=")
	b, link := startWebCommand(t, cmd)
	b.expectAnswer(link, "where?", musttest.Get(filepath.EvalSymlinks(dir))(t))
	// As when the window of the terminal is closed.
	b.signal(syscall.SIGHUP)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	wanttest.Equal(t, "it warns:", b.log(), "")
	if _, err := os.Stat(filepath.Join(dir, ".nanobot", "command", "nanobot.db")); err != nil {
		t.Error("the chat is not stored in .nanobot:", err)
	}
	cmd = webCommand(t, dir, "pwd")
	cmd.Env = append(cmd.Env, "PATH="+t.TempDir()) // without xdg-open
	b, link = startWebCommand(t, cmd)
	b.openLink(link)
}

func TestWebUsesTheConfigOfItsFolder(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "echo configured"}}`), 0o600))
	b, link := startWebCommand(t, webCommand(t, dir, "--no-browser"))
	b.expectAnswer(link, "hello", "configured")
	again := &webBot{program: startCommand(t, webCommand(t, dir, "--no-browser"), t.TempDir()), t: t}
	if line := again.readLine(); !strings.HasPrefix(line, "nanobot already runs in this folder (process ") {
		t.Errorf("it says %q", line)
	}
	again.openLink(again.readLink())
	wanttest.Equal(t, "it is the same page:", again.listen, b.listen)
	wanttest.Equal(t, "status", again.awaitExit(), 0)
	// A command has its own state.
	other, link := startWebCommand(t, webCommand(t, dir, "--no-browser", "echo commanded"))
	other.expectAnswer(link, "hello", "commanded")
}

func TestWebWithoutACommandOpensThePageOfTheCommandThatRuns(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	b, link := startWebCommand(t, webCommand(t, dir, "--no-browser", "echo commanded"))
	b.expectAnswer(link, "hello", "commanded")
	again, link := startWebCommand(t, webCommand(t, dir, "--no-browser"))
	again.openLink(link)
	wanttest.Equal(t, "it is the same page:", again.listen, b.listen)
	wanttest.Equal(t, "status", again.awaitExit(), 0)
	b.kill() // which leaves the file with the address
	status, said := failWeb(t, webCommand(t, dir, "--no-browser"))
	if status != exit.Usage || !strings.Contains(said, "there is no config.json in this folder") {
		t.Errorf("status %d, %s", status, said)
	}
}

func TestServeRemovesTheLinkThatWebHasOpened(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	path, awaitOpened := recordBrowser(t)
	cmd := webCommand(t, t.TempDir(), "--config", b.cfg)
	cmd.Env = append(cmd.Env, path)
	again := startCommand(t, cmd, t.TempDir())
	wanttest.Equal(t, "status", again.awaitExit(), 0)
	door := strings.TrimPrefix(awaitOpened(), "file://")
	if _, err := os.Stat(door); err != nil {
		t.Error(err)
	}
	b.signal(syscall.SIGTERM)
	b.awaitExit()
	if _, err := os.Stat(door); err == nil {
		t.Error("the file stays")
	}
}

func TestWebBesideADaemonWithoutAPageSaysSo(t *testing.T) {
	t.Parallel()
	b := startTelegramBot(t, telegramSetup{agent: echo})
	b.awaitLog("ready")
	status, said := failWeb(t, webCommand(t, t.TempDir(), "--config", b.cfg, "--no-browser"))
	if status != exit.Failed || !strings.Contains(said, "another nanobot is running on this state") || !strings.Contains(said, "it has no chat page") {
		t.Errorf("status %d, %s", status, said)
	}
}

func TestWebSaysThatItsPortIsTaken(t *testing.T) {
	t.Parallel()
	listener := musttest.Get(net.Listen("tcp", "127.0.0.1:0"))(t)
	defer listener.Close()
	address := listener.Addr().String()
	status, said := failWeb(t, webCommand(t, t.TempDir(), "--listen", address, "pwd"))
	want := "nanobot: another program uses " + address + ": choose another port, or --listen 127.0.0.1:0 for any free one\n"
	if status != exit.Failed || said != want {
		t.Errorf("status %d, %s", status, said)
	}
}

func TestWebInAReadOnlyFolderUsesATemporaryOne(t *testing.T) {
	t.Parallel()
	if os.Geteuid() == 0 {
		t.Skip("root can write everywhere; see TestRootsWebInAReadOnlyFolderUsesATemporaryOne")
	}
	testReadOnlyFolder(t, t.TempDir(), func(cmd *exec.Cmd) *exec.Cmd { return cmd })
}

// testReadOnlyFolder runs web where it may only read, as the user that as sets.
func testReadOnlyFolder(t *testing.T, dir string, as func(*exec.Cmd) *exec.Cmd) {
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "agent.sh"), []byte("echo read from $PWD; echo x >$NANOBOT_USER_DATA_DIR/x"), 0o644))
	musttest.Do(t, os.Chmod(dir, 0o555))
	t.Cleanup(func() { _ = os.Chmod(dir, 0o755) })
	b, link := startWebCommand(t, as(webCommand(t, dir, "--no-browser", "sh agent.sh")))
	wanttest.Equal(t, "it says", b.log(), "nanobot: "+dir+" is read-only, so the chats are in a temporary folder and are removed at the end.\n")
	b.expectAnswer(link, "hello", "read from "+dir)
	_, chats, _ := strings.Cut(b.readLineWith("Ctrl-C ends nanobot and removes the chats in "), "chats in ")
	b.signal(syscall.SIGINT)
	wanttest.Equal(t, "status", b.awaitExit(), 0)
	if _, err := os.Stat(chats); err == nil {
		t.Errorf("%s is still there", chats)
	}
	musttest.Do(t, os.Chmod(dir, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(dir, "config.json"), []byte(`{"terminal": {"command": "pwd"}}`), 0o644))
	musttest.Do(t, os.Chmod(dir, 0o555))
	if status, said := failWeb(t, as(webCommand(t, dir, "--no-browser"))); status != exit.Config || !strings.Contains(said, "the workspace "+dir+" is read-only") {
		t.Errorf("with a config: status %d, %s", status, said)
	}
}

// readLineWith waits for a line with a text.
func (p *program) readLineWith(text string) string {
	p.t.Helper()
	for {
		if line := p.readLine(); strings.Contains(line, text) {
			return line
		}
	}
}

func TestServeSaysHowToMakeALink(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	b.awaitLog("nanobot link --role operator --config " + b.cfg)
}

func TestWebGivesAModelsToolTheMessageAlone(t *testing.T) {
	t.Parallel()
	bin := t.TempDir()
	musttest.Do(t, os.WriteFile(filepath.Join(bin, "claude"), []byte("#!/bin/sh\necho \"($(cat))\"\n"), 0o755))
	cmd := webCommand(t, t.TempDir(), "--no-browser", "claude -p")
	cmd.Env = append(cmd.Env, "PATH="+bin+":/usr/bin:/bin")
	b, link := startWebCommand(t, cmd)
	b.expectAnswer(link, "hello", "(hello)")
	wanttest.Equal(t, "it warns:", b.log(), "")
}
