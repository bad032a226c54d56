package packaging_test

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/cookiejar"
	"net/http/httptest"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// bareRoot is the base system of Debian, without curl, wget, openssl and certificates. It shares
// the network with this machine.
type bareRoot struct {
	*testing.T
	path string
}

// needsBareRoot makes a bare root, and skips the test without NANOBOT_TEST_RELEASE=1, because that
// takes a minute and a mirror of Debian.
func needsBareRoot(t *testing.T) bareRoot {
	t.Helper()
	if os.Getenv("NANOBOT_TEST_RELEASE") != "1" {
		t.Skip("set NANOBOT_TEST_RELEASE=1 (as root) to install a release on a bare Debian")
	}
	r := bareRoot{t, filepath.Join(t.TempDir(), "root")}
	for _, need := range []string{"mmdebstrap", "unshare"} {
		if _, err := exec.LookPath(need); err != nil || os.Getuid() != 0 {
			t.Skipf("a bare Debian needs root and %s", need)
		}
	}
	if out, err := exec.CommandContext(t.Context(), "mmdebstrap", "--variant=minbase", "bookworm", r.path).CombinedOutput(); err != nil {
		t.Fatalf("make a bare Debian: %v\n%s", err, out)
	}
	return r
}

// command runs a line of shell in namespaces of the root; what it starts dies with it.
func (r bareRoot) command(line string) *exec.Cmd {
	cmd := exec.CommandContext(r.Context(), "unshare", "--mount", "--pid", "--fork", "--kill-child=TERM", "--root="+r.path, "--wd=/root",
		"--mount-proc", "sh", "-c", line)
	cmd.Env = []string{"HOME=/root", "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin", "DEBIAN_FRONTEND=noninteractive"}
	return cmd
}

// run expects the output to contain texts, in this order.
func (r bareRoot) run(line string, wantStatus int, want ...string) {
	r.Helper()
	cmd := r.command(line)
	out, _ := cmd.CombinedOutput()
	wanttest.Equal(r, line+": status", cmd.ProcessState.ExitCode(), wantStatus)
	rest := string(out)
	for _, text := range want {
		var found bool
		if _, rest, found = strings.Cut(rest, text); !found {
			r.Fatalf("%s: said\n%s\nwithout %q", line, out, text)
		}
	}
}

// leftBehind returns the paths below a folder that have the program's name.
func (r bareRoot) leftBehind(folder string) string {
	r.Helper()
	out, err := r.command("find " + folder + " -xdev -path /proc -prune -o -name '*nanobot*' -print; dpkg-query --show nanobot").Output()
	if status := (*exec.ExitError)(nil); err != nil && !errors.As(err, &status) {
		r.Fatal(err)
	}
	return string(out)
}

// serveTwoReleases serves v1.2.3 and v1.2.4, and the script of v1.2.3.
func serveTwoReleases(t *testing.T) (address string) {
	t.Helper()
	first, second := filepath.Dir(packages(t, "SHA256SUMS")), t.TempDir()
	cmd := exec.CommandContext(t.Context(), "sh", "./build", second)
	cmd.Env = append(os.Environ(), "VERSION=v1.2.4", "ARCH="+runtime.GOARCH)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build v1.2.4: %v\n%s", err, out)
	}
	mux := http.NewServeMux()
	mux.Handle("/v1.2.3/", http.StripPrefix("/v1.2.3", http.FileServer(http.Dir(first))))
	mux.Handle("/v1.2.4/", http.StripPrefix("/v1.2.4", http.FileServer(http.Dir(second))))
	server := httptest.NewServer(mux)
	t.Cleanup(server.Close)
	script := stampedScript(t, "VERSION=v1.2.3", "BASE="+server.URL)
	mux.HandleFunc("/install.sh", func(w http.ResponseWriter, _ *http.Request) { _, _ = io.WriteString(w, script) })
	return server.URL
}

func TestAReleaseIsInstalledOnABareDebian(t *testing.T) {
	r := needsBareRoot(t)
	address := serveTwoReleases(t)
	const program = "/root/.local/bin/nanobot"

	r.run("/usr/lib/apt/apt-helper download-file "+address+"/install.sh install.sh && sh install.sh", 0,
		"nanobot v1.2.3 is installed: "+program+"\n", "is not in your PATH", "Next: "+program+" demo\n")
	person, stop := r.startDemo(program)
	person.expectAnswer("hello", "You said: hello")
	r.run("sh install.sh --version v1.2.4", 0, "nanobot v1.2.3 -> v1.2.4 is installed: "+program+"\n", "stay with v1.2.3")
	person.expectAnswer("again", "You said: again") // from the program that was replaced
	stop()
	person, stop = r.startDemo(program)
	person.expectAnswer("hello", "You said: hello")
	stop()
	r.run("sh install.sh --version v9.9.9", 1, "there is no v9.9.9 at "+address, "Nothing was changed.\n")
	r.run(program+" version", 0, "nanobot v1.2.4 ")
	r.run("sh install.sh --uninstall", 0, "Removed "+program)
	wanttest.Equal(t, "left in the home:", r.leftBehind("/root/.local"), "")
	musttest.Do(t, os.RemoveAll(filepath.Join(r.path, "root/.cache")))

	// The package depends on ca-certificates, of which apt-get knows only after an update.
	r.run("rm -rf /var/lib/apt/lists/*; sh install.sh --system", 1, "ca-certificates", "install.sh: apt-get did not install nanobot-1.2.3-linux-", "If it does not find ca-certificates: apt-get update\n")
	wanttest.Equal(t, "left of a package that cannot be installed:", r.leftBehind("/"), "")
	r.run("apt-get update && sh install.sh --system", 0, "nanobot v1.2.3 is installed: /usr/bin/nanobot\nNext: nanobot bots create mybot ")
	r.run("nanobot version && nanobot run --command 'echo got {message}' hello && rm -rf users .nanobot", 0, "nanobot v1.2.3 ", "got hello\n")
	r.run("sh install.sh --system --version v1.2.4", 0, "nanobot v1.2.3 -> v1.2.4 is installed: /usr/bin/nanobot\n")
	r.run("sh install.sh --system", 0, "v1.2.3 is older than the installed v1.2.4", "nanobot v1.2.4 -> v1.2.3 is installed: /usr/bin/nanobot\n")
	r.run("sh install.sh --system --uninstall", 0, "Removed nanobot v1.2.3. These stay: ")
	wanttest.Equal(t, "left behind:", r.leftBehind("/"), "")
}

// demoPerson is somebody who has opened the link of a demo.
type demoPerson struct {
	*testing.T
	http.Client
	origin string
}

// startDemo runs the demo in the root and signs in by the link that it prints.
func (r bareRoot) startDemo(program string) (p *demoPerson, stop func()) {
	r.Helper()
	cmd := r.command("exec " + program + " demo --no-browser")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	stdout := musttest.Get(cmd.StdoutPipe())(r)
	lines := bufio.NewScanner(stdout)
	musttest.Do(r, cmd.Start())
	for lines.Scan() {
		link := strings.TrimSpace(lines.Text())
		if !strings.HasPrefix(link, "http://") {
			continue
		}
		parsed := musttest.Get(url.Parse(link))(r)
		p = &demoPerson{r.T, http.Client{Jar: musttest.Get(cookiejar.New(nil))(r)}, "http://" + parsed.Host}
		p.request(http.MethodPost, parsed.Path, "")
		return p, func() {
			p.CloseIdleConnections()
			_ = cmd.Process.Kill() // of unshare, which ignores SIGTERM; the demo is then sent SIGTERM
			_, _ = io.Copy(io.Discard, stdout)
			_ = cmd.Wait()
		}
	}
	r.Fatalf("the demo prints no link: %s", &stderr)
	return nil, nil
}

// request makes a request from the page of the demo and returns the body of the response.
func (p *demoPerson) request(method, path, body string) string {
	p.Helper()
	req := musttest.Get(http.NewRequestWithContext(p.Context(), method, p.origin+path, strings.NewReader(body)))(p)
	req.Header.Set("Origin", p.origin)
	req.Header.Set("Content-Type", "application/json")
	resp := musttest.Get(p.Do(req))(p)
	defer resp.Body.Close()
	answer := musttest.Get(io.ReadAll(resp.Body))(p)
	if resp.StatusCode >= http.StatusBadRequest {
		p.Fatalf("%s %s is answered %d %s", method, path, resp.StatusCode, answer)
	}
	return string(answer)
}

// expectAnswer sends a message in a new chat and waits for an answer.
func (p *demoPerson) expectAnswer(text, want string) {
	p.Helper()
	var chat struct{ ID string }
	musttest.Do(p, json.Unmarshal([]byte(p.request(http.MethodPost, "/api/chats", "{}")), &chat))
	p.request(http.MethodPost, "/api/chats/"+chat.ID+"/messages", `{"text": "`+text+`"}`)
	messages := ""
	for deadline := time.Now().Add(5 * time.Minute); !strings.Contains(messages, want); time.Sleep(50 * time.Millisecond) {
		if time.Now().After(deadline) {
			p.Fatalf("%q is not answered with %q: %s", text, want, messages)
		}
		messages = p.request(http.MethodGet, "/api/chats/"+chat.ID+"/messages", "")
	}
}
