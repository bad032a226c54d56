package systemd_test

import (
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nanobot/channels/telegram/telegramtest"
)

// page follows deploy/README.md.
type page struct {
	machine
	text string
}

// step does what the page says, with an input. placeholders are pairs of what stands on the page and what a reader puts there.
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

func TestAServerIsSetUpByThePage(t *testing.T) {
	p := page{startMachine(t), read(t, "../README.md")}
	if runtime.GOARCH != "amd64" {
		t.Skip("the page is written for amd64")
	}
	dist := t.TempDir()
	build := exec.Command("sh", "../package/build", dist)
	build.Env = append(build.Environ(), "VERSION=v1.2.3", "ARCH=amd64")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build the package: %v\n%s", err, out)
	}
	p.write("/tmp/nanobot_1.2.3_amd64.deb", read(t, filepath.Join(dist, "nanobot_1.2.3_amd64.deb")), 0o644)
	api := telegramtest.New(t)

	p.step("sudo apt install ./nanobot_1.2.3_amd64.deb python3", "y\n")
	p.step("sudo nanobot bots create mybot --template python --telegram-token-file -", api.Token+"\n")
	// The only departure: a Telegram of ours.
	p.run("sed", "-i", `s|"telegram": {|"telegram": {"apiBase": "`+api.URL+`",|`, "/etc/nanobot/mybot/config.json")
	p.step("sudo nanobot bots start mybot", "")
	api.Say(7, "hello")
	_, code, _ := strings.Cut(api.Wait(t, 7, 1)[0].Words(), "nanobot pair ")
	code, _, _ = strings.Cut(code, "\n")
	p.step("sudo nanobot pair --config /etc/nanobot/mybot/config.json CODE", "", "CODE", code)
	api.Say(7, "hello")
	api.WaitFor(t, 7, "You said: hello")
	if out := p.step("sudo nanobot doctor --config /etc/nanobot/mybot/config.json", ""); strings.Contains(out, "\nfail") {
		t.Error("the doctor finds something")
	}
	p.step("sudo nanobot check-config --config /etc/nanobot/mybot/config.json && sudo systemctl reload nanobot@mybot", "")
	p.step("sudo systemctl restart nanobot@mybot", "")
	p.step("sudo systemctl try-restart 'nanobot@*'", "")
	p.until("the status is that of the page", func() bool { return strings.Contains(p.step("systemctl status nanobot@mybot", ""), "telegram ok, ") })
	if out := p.step("nanobot bots list", ""); !strings.Contains(out, "active") {
		t.Error("it is not active")
	}
	p.step("journalctl -u nanobot@mybot -p warning -o cat", "")
	p.step("sudo nanobot bots remove mybot", "y\n")
	p.step("sudo apt purge nanobot", "y\n")
	if out, err := p.command("systemctl", "is-active", "nanobot@mybot").Output(); err == nil {
		t.Errorf("after all that it is %s", out)
	}
}
