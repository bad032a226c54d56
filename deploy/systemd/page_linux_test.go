package systemd_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
	"nanobot/internal/wanttest"
)

// page executes the commands in deploy/README.md.
type page struct {
	machine
	text string
}

// blockAfter returns the code block that follows some words on the page.
func (p page) blockAfter(after string) string {
	p.Helper()
	_, rest, _ := strings.Cut(p.text, after)
	_, rest, _ = strings.Cut(rest, "```sh\n")
	block, _, found := strings.Cut(rest, "```")
	if !found {
		p.Fatalf("the page shows nothing after %q", after)
	}
	return block
}

// step runs a command of the page with an input. placeholders are pairs of a text on the page and
// its replacement.
func (p page) step(line, input string, placeholders ...string) string {
	p.Helper()
	if !strings.Contains(p.text, line) {
		p.Errorf("the page does not say: %s", line)
	}
	line = strings.NewReplacer(append(placeholders, "sudo ", "")...).Replace(line)
	cmd := p.command("sh", "-c", "cd /tmp && "+line)
	cmd.Stdin = strings.NewReader(input)
	out, err := cmd.CombinedOutput()
	p.Logf("$ %s\n%s", line, out)
	if err != nil {
		p.Fatalf("%s: %v", line, err)
	}
	return string(out)
}

func TestThePageSetsUpAServer(t *testing.T) {
	p := page{startMachine(t), readUnit(t, "../README.md")}
	if runtime.GOARCH != "amd64" {
		t.Skip("the page is written for amd64")
	}
	dist := t.TempDir()
	build := exec.Command("sh", "../package/build", dist)
	build.Env = append(build.Environ(), "VERSION=v1.2.3", "ARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the package: %v\n%s", err, out)
	}
	p.putFile("/tmp/nanobot-1.2.3-linux-amd64.deb", readUnit(t, filepath.Join(dist, "nanobot-1.2.3-linux-amd64.deb")), 0o644)
	api := telegramtest.New(t)

	p.step("sudo apt install ./nanobot-1.2.3-linux-amd64.deb python3", "y\n")
	p.step("sudo nanobot bots create mybot --template python --telegram-token-file -", api.Token+"\n")
	// The only deviation from the page is the address of the test's Telegram server.
	p.run("sed", "-i", `s|"telegram": {|"telegram": {"apiBase": "`+api.URL+`",|`, "/etc/nanobot/mybot/config.json")
	p.step("sudo nanobot bots start mybot", "")
	api.UserSends(7, "hello")
	_, code, _ := strings.Cut(api.WaitForCount(t, 7, 1)[0].TextOrCaption(), "nanobot pair ")
	code, _, _ = strings.Cut(code, "\n")
	p.step("sudo nanobot pair --config /etc/nanobot/mybot/config.json CODE", "", "CODE", code)
	api.UserSends(7, "hello")
	api.WaitForText(t, 7, "You said: hello")
	if out := p.step("sudo nanobot doctor --config /etc/nanobot/mybot/config.json", ""); strings.Contains(out, "\nfail") {
		t.Error("the doctor finds something")
	}
	p.step("sudo nanobot check-config --config /etc/nanobot/mybot/config.json && sudo systemctl reload nanobot@mybot", "")
	p.step("sudo systemctl restart nanobot@mybot", "")
	p.step("sudo systemctl try-restart nanobot 'nanobot@*'", "")
	p.await("the status is that of the page", func() bool { return strings.Contains(p.step("systemctl status nanobot@mybot", ""), "telegram ok, ") })
	if out := p.step("nanobot bots list", ""); !strings.Contains(out, "active") {
		t.Error("it is not active")
	}
	p.step("journalctl -u nanobot@mybot -p warning -o cat", "")
	if out := p.step("sudo tail /var/lib/nanobot/mybot/audit.jsonl", ""); !strings.Contains(out, `"telegram"`) || strings.Contains(out, "hello") {
		t.Error("that is not the audit log of the page")
	}
	p.restoreFromBackup(api)
	p.editUnit()
	p.step("sudo nanobot bots remove mybot", "y\n")
	p.createBotByHand()
	p.createManyBots()
	p.step("sudo apt purge nanobot", "y\n")
	if out, err := p.command("systemctl", "is-active", "nanobot@mybot").Output(); err == nil {
		t.Errorf("after all that it is %s", out)
	}
	p.step("sudo rm -rf /etc/nanobot /var/lib/nanobot /var/lib/private/nanobot /etc/systemd/system/nanobot*.service.d", "")
	wanttest.Equal(t, "left over:", p.run("find", "/etc", "/var/lib", "/usr/bin", "/usr/lib/systemd", "-name", "*nanobot*", "-not", "-path", "/var/lib/dpkg/*", "-not", "-path", "/var/lib/systemd/*"), "")
}

// restoreFromBackup backs the bot up, removes it and restores it. The paired people stay paired.
func (p page) restoreFromBackup(api *telegramtest.Server) {
	p.Helper()
	p.step("sudo sqlite3 /var/lib/nanobot/mybot/nanobot.db '.backup mybot.db'", "")
	if out := p.run("sqlite3", "/tmp/mybot.db", "PRAGMA integrity_check; SELECT count(*) FROM pairing"); out != "ok\n1" {
		p.Errorf("the copy of the database is %q", out)
	}
	p.step("sudo nanobot bots stop mybot", "")
	p.step("sudo sh -c 'umask 077; tar -czf mybot.tar.gz -C / etc/nanobot/mybot var/lib/private/nanobot/mybot'", "")
	p.step("sudo nanobot bots start mybot", "")
	if out := p.run("stat", "-c", "%a", "/tmp/mybot.tar.gz"); out != "600" {
		p.Errorf("the tokens in it can be read by others: %s", out)
	}
	p.nanobot("bots", "remove", "mybot", "--purge", "--yes")
	p.step("sudo tar -xzf mybot.tar.gz -C / && sudo nanobot bots start mybot", "")
	api.UserSends(7, "again")
	api.WaitForText(p.T, 7, "You said: again")
}

// editUnit changes the unit of one bot as the page says. A new bot of that name has no such change.
func (p page) editUnit() {
	p.Helper()
	p.putFile("/tmp/editor", "#!/bin/sh\nprintf '[Service]\\nMemoryMax=123M\\n' >\"$1\"\n", 0o755)
	// The command needs a terminal and an editor.
	p.step("sudo systemctl edit nanobot@mybot", "", "sudo systemctl edit nanobot@mybot", `SYSTEMD_EDITOR=/tmp/editor script -qec "systemctl edit nanobot@mybot" /dev/null`)
	if got := p.property("nanobot@mybot", "MemoryMax"); got != "128974848" {
		p.Errorf("the drop-in does nothing: %s", got)
	}
	p.nanobot("bots", "remove", "mybot", "--yes")
	p.nanobot("bots", "create", "mybot", "--command", "cat", "--keep-state")
	if got := p.property("nanobot@mybot", "MemoryMax"); got != "infinity" {
		p.Errorf("a new bot has the old one's limit: %s", got)
	}
}

// createBotByHand creates a bot without nanobot bots.
func (p page) createBotByHand() {
	p.Helper()
	api := telegramtest.New(p.T)
	p.putFile("/tmp/token.txt", api.Token+"\n", 0o600)
	p.putFile("/opt/mybot/agent.py", readUnit(p.T, "testdata/agent.py"), 0o644)
	p.step(p.blockAfter("By hand"), "", "mybot", "hand", "/opt/mybot", "/opt/mybot", "123456789", "7", `"enabled": true`, `"enabled": true, "apiBase": "`+api.URL+`"`)
	api.UserSends(7, "how is it?")
	api.WaitForText(p.T, 7, fullReport)
}

// createManyBots creates the bots of the page, each with its own Telegram server.
func (p page) createManyBots() {
	p.Helper()
	names := []string{"sales", "support", "oncall"}
	point := "case $1 in\n"
	networks := map[string]*telegramtest.Server{}
	for _, name := range names {
		api := telegramtest.New(p.T)
		networks[name] = api
		p.putFile("/tmp/tokens/"+name, api.Token+"\n", 0o600)
		point += name + ") url=" + api.URL + ";;\n"
	}
	p.putFile("/tmp/point", point+`esac; sed -i "s|\"telegram\": {|\"telegram\": {\"apiBase\": \"$url\",|" /etc/nanobot/$1/config.json`, 0o644)
	p.putFile("/opt/agents/run", "#!/bin/sh\necho \"you said $2\"\n", 0o755)
	p.step(p.blockAfter("## Many bots"), "", "123456789", "7", "sudo nanobot bots start $n", "sh /tmp/point $n && nanobot bots start $n")
	for _, name := range names {
		networks[name].UserSends(7, name)
		networks[name].WaitForText(p.T, 7, "you said "+name)
	}
	if out := p.nanobot("bots", "stop", "--all"); strings.Count(out, " inactive ") != 1+len(names) { // and the one that was made by hand
		p.Errorf("stop --all leaves some running:\n%s", out)
	}
}
