package terminal_test

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/jobs"
	"nanobot/terminal/process"
	"nanobot/terminal/protocoltest"
	"nanobot/terminal/sandbox"
	"nanobot/terminal/sandbox/sandboxtest"
	"nanobot/terminal/shellrun"
)

// supervised gives the fixture a supervisor, and a workspace outside the temporary folders, to
// which every sandbox grants access.
func (b *turnFixture) supervised() *turnFixture {
	b.t.Helper()
	supervisor := process.NewSupervisor(process.SupervisorOptions{})
	b.t.Cleanup(supervisor.Close)
	dir := sandboxtest.Outside(b.t)
	musttest.Do(b.t, os.Mkdir(filepath.Join(dir, "work"), 0o755))
	musttest.Do(b.t, os.WriteFile(filepath.Join(dir, "secret"), []byte("secret"), 0o644))
	b.workspace = filepath.Join(dir, "work")
	b.opts.Workspace, b.opts.Supervisor = b.workspace, supervisor
	return b
}

// sandboxed enables Landlock, and skips the test on a kernel without it.
func (b *turnFixture) sandboxed() *turnFixture {
	b.t.Helper()
	if _, err := sandbox.New(sandbox.Options{Sandbox: sandbox.Landlock, Required: true}); err != nil {
		b.t.Skip(err)
	}
	b.opts.Config.Sandbox = sandbox.Landlock
	return b
}

func TestAPlainAndARichAgentAreSandboxed(t *testing.T) {
	const look = `cat ../secret 2>/dev/null; echo mine > users/local/f; cat users/local/f; ulimit -n`
	b := newTurnFixture(t, "plain", look).supervised().sandboxed()
	b.opts.Config.Limits.Files = 99
	b.run().expectFrames(terminal.Done, "message: mine\n99")
	b = newTurnFixture(t, "rich", "read -r line; "+look).supervised().sandboxed()
	b.opts.Config.Limits.Files = 99
	b.run().expectFrames(terminal.Done, "message: mine\n99")
	newTurnFixture(t, "plain", look).supervised().run().expectFrames(terminal.Done, "message: secretmine\n"+strings.TrimSpace(openFilesLimit(t)))
}

// openFilesLimit returns the limit of open files of a child.
func openFilesLimit(t *testing.T) string {
	t.Helper()
	c := musttest.Get(process.Start(process.Options{Args: []string{"/bin/sh", "-c", "ulimit -n"}}))(t)
	line, _ := bufio.NewReader(c.Stdout).ReadString('\n')
	c.Wait()
	return line
}

func TestAnAgentThatExceedsALimitIsReported(t *testing.T) {
	b := newTurnFixture(t, "plain", "while :; do :; done").supervised()
	b.opts.Config.Limits.CPU = 1
	b.run().expectFrames(terminal.Failed, "message: Killed by SIGXCPU")
	if b.out.CPU < 500*time.Millisecond {
		t.Errorf("used %v", b.out.CPU)
	}
}

func TestTheResourceUsageOfATurnIsInItsOutcome(t *testing.T) {
	var ours unix.Rusage // a peak below our own cannot be distinguished from it
	musttest.Do(t, unix.Getrusage(unix.RUSAGE_SELF, &ours))
	size := ours.Maxrss<<10 + 50<<20
	b := newTurnFixture(t, "plain", fmt.Sprintf("head -c %d /dev/zero | tail -c %[1]d | wc -c", size)).supervised().run()
	if b.out.Memory < size || b.out.CPU <= 0 || b.out.CPU > time.Minute {
		t.Errorf("used %+v", b.out)
	}
}

func TestAProcessThatLeavesTheAgentsGroupDiesWithTheTurn(t *testing.T) {
	b := newTurnFixture(t, "plain", "setsid sh -c 'echo $$ > pid; exec sleep 300' >/dev/null 2>&1 & until [ -s pid ]; do sleep 0.01; done; echo up").supervised()
	b.run().expectFrames(terminal.Done, "message: up")
	pid := musttest.Get(os.ReadFile(filepath.Join(b.workspace, "pid")))(t)
	if stat, err := os.ReadFile("/proc/" + strings.TrimSpace(string(pid)) + "/stat"); err == nil && !strings.Contains(string(stat), ") Z ") {
		t.Errorf("process %s lives on", pid)
	}
}

func TestAnAgentMayBeAnotherUser(t *testing.T) {
	if os.Geteuid() != 0 {
		t.Skip("only root may become somebody else")
	}
	b := newTurnFixture(t, "plain", `id -un; cat users/local/in.txt; echo made > users/local/out.png; echo $PWD/users/local/out.png $HOME`).supervised()
	// Other users may not be able to enter the source folder, but they can enter the temporary one.
	b.workspace = t.TempDir()
	b.opts.Workspace = b.workspace
	for _, dir := range []string{filepath.Dir(b.workspace), b.workspace} {
		musttest.Do(t, os.Chmod(dir, 0o755))
	}
	media := filepath.Join(b.workspace, "users", "local", "in.txt")
	musttest.Do(t, os.MkdirAll(filepath.Dir(media), 0o700))
	musttest.Do(t, os.WriteFile(media, []byte("for you\n"), 0o600))
	b.opts.Config.User, b.req.Media = "nobody", []string{media}
	b.opts.Config.Env = map[string]string{"HOME": "/chosen"}
	b.run().expectFrames(terminal.Done, "message: nobody\nfor you\n"+b.workspace+"/users/local/out.png /chosen [out.png]")
}

func TestARunnerWithoutItsRequiredSandboxRefuses(t *testing.T) {
	b := newTurnFixture(t, "plain", "true").supervised()
	for _, sandbox := range []string{"no-such-wrapper", "landlok", "no-such-wrapper --flag", "Landlock"} {
		b.opts.Config.Sandbox = sandbox
		b.opts.Config.SandboxRequired = true
		if _, err := terminal.NewRunner(b.opts); err == nil || !strings.HasPrefix(err.Error(), "sandboxRequired: ") {
			t.Errorf("%s: %v", sandbox, err)
		}
	}
	b.opts.Config.Sandbox = "env A=b"
	if _, err := terminal.NewRunner(b.opts); err != nil {
		t.Error(err)
	}
}

// persistentProtocol is a protocol with one persistent agent, which reads a line and answers it.
// The protocol also runs commands for the agent.
type persistentProtocol struct {
	agent *terminal.Agent
	lines *bufio.Reader
	said  string
	job   string
}

func (k *persistentProtocol) Turn(ctx context.Context, t terminal.Turn) (terminal.Outcome, error) {
	if k.agent == nil {
		agent, err := t.LaunchPersistent(terminal.PersistentOptions{})
		if err != nil {
			return terminal.Outcome{}, err
		}
		k.agent, k.lines = agent, bufio.NewReader(agent.Stdout)
	}
	t.Report(terminal.Launched(k.agent.Pid()))
	fmt.Fprintln(k.agent, t.Envelope.Text)
	k.said, _ = k.lines.ReadString('\n')
	table := jobs.NewTable(jobs.Options{Dir: t.ExecEnv().Dir, ApplySandbox: t.ExecEnv().ApplySandbox})
	defer table.Close()
	id, err := table.Create(jobs.Command{Line: "cat ../secret; ulimit -n", Env: t.ExecEnv().Env})
	if err != nil {
		return terminal.Outcome{}, err
	}
	_, _ = table.Wait(ctx, id)
	out, _ := table.Output(id)
	k.job = out.Text
	return terminal.Outcome{Status: terminal.Done}, nil
}

func (k *persistentProtocol) Close() {
	k.agent.CloseInput()
	k.agent.Wait()
}

func TestAPersistentAgentAndItsCommandsAreSandboxed(t *testing.T) {
	const burn = "i=0; while [ $i -lt 100000 ]; do i=$((i+1)); done; "
	b := newTurnFixture(t, "plain", "while read -r n; do [ $n = 1 ] && { "+burn+"}; cat ../secret 2>/dev/null; ulimit -n; done").supervised().sandboxed()
	k := &persistentProtocol{}
	b.opts.Protocol, b.opts.Config.Limits.Files = k, 98
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	defer r.Close()
	var used []time.Duration
	for n := 1; n < 3; n++ {
		b.req.Text = strconv.Itoa(n)
		out, err := r.Turn(t.Context(), b.req, terminal.NoChat{})
		if err != nil || k.said != "98\n" || !strings.HasSuffix(k.job, "Permission denied\n98\n") {
			t.Fatalf("agent %q, job %q, %v", k.said, k.job, err)
		}
		used = append(used, out.CPU)
	}
	if used[0] < 20*time.Millisecond || used[1] > used[0]/2 {
		t.Errorf("turns used %v: the second did nothing", used)
	}
}

// An agent that replaces its chat's folder by a symbolic link must not get access to the target.
func TestALinkInThePlaceOfAChatsFolderIsRefused(t *testing.T) {
	for _, at := range []string{"users", "users/local"} {
		b := newTurnFixture(t, "plain", "cat ../secret users/local/secret; true").supervised().sandboxed()
		link := filepath.Join(b.workspace, at)
		musttest.Do(t, os.MkdirAll(filepath.Dir(link), 0o700))
		outside := filepath.Dir(b.workspace)
		musttest.Do(t, os.Symlink(outside, link))
		r, err := terminal.NewRunner(b.opts)
		if err != nil {
			t.Fatal(err)
		}
		_, err = r.Turn(t.Context(), b.req, protocoltest.Frames(func(f terminal.Frame) error { t.Errorf("%s: it says %q", at, f.Text); return nil }))
		if err == nil || !strings.Contains(err.Error(), link) {
			t.Errorf("%s: %v", at, err)
		}
		if _, err := os.Stat(filepath.Join(outside, "local")); err == nil {
			t.Errorf("%s: a folder was made where the link leads to", at)
		}
	}
}

// The folder may be replaced by a symbolic link during the turn, so it is no media root by itself.
func TestTheFolderOfAChatIsNotAMediaRoot(t *testing.T) {
	b := newTurnFixture(t, "plain", `rmdir users/local; ln -s "${PWD%/*}" users/local; echo "$PWD/users/local/secret.png"`).supervised()
	b.opts.Config.MediaRoots = nil
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(b.workspace), "secret.png"), []byte("secret"), 0o600))
	b.run()
	for _, f := range b.frames {
		if len(f.Checked) > 0 {
			t.Errorf("sends %v", f.Checked)
		}
	}
	if !strings.Contains(b.frames[0].Text, "was not sent") {
		t.Errorf("%+v", b.frames)
	}
}

// rootsProtocol is a protocol that records the folders that an agent may use.
type rootsProtocol struct{ roots []string }

func (p *rootsProtocol) Turn(_ context.Context, t terminal.Turn) (terminal.Outcome, error) {
	p.roots = t.ExecEnv().Roots
	return terminal.Outcome{Status: terminal.Done}, nil
}

// An agent could replace a working folder in the workspace by a symbolic link, whatever paths the
// two have.
func TestAWorkingFolderIsARootOnlyOutsideTheWorkspace(t *testing.T) {
	dir, elsewhere := t.TempDir(), t.TempDir()
	for _, sub := range []string{"real/sub", "real/sub/deep"} {
		musttest.Do(t, os.MkdirAll(filepath.Join(dir, sub), 0o700))
	}
	link := filepath.Join(dir, "link")
	for at, to := range map[string]string{link: "real", dir + "/real/out": elsewhere, elsewhere + "/in": dir + "/real/sub/.."} {
		musttest.Do(t, os.Symlink(to, at))
	}
	for cwd, own := range map[string]bool{
		"": false, link: false, dir + "/real": false, link + "/sub": false, dir + "/real/sub/deep": false, dir + "/real/out": false,
		elsewhere + "/in": false, elsewhere: true, dir: true,
	} {
		p := &rootsProtocol{}
		b := newTurnFixture(t, "plain", "true")
		b.opts.Workspace, b.opts.Config.Cwd, b.opts.Protocol = link, cwd, p
		b.run()
		if want := map[bool][]string{false: {link}, true: {link, cwd}}[own]; b.err != nil || !slices.Equal(p.roots, want) {
			t.Errorf("cwd %q: %q, %v", cwd, p.roots, b.err)
		}
	}
}

// A config that only refers to secrets may be read, and no config may be changed.
func TestOnlyAConfigWithSecretsIsHiddenFromTheAgent(t *testing.T) {
	for _, harmless := range []bool{false, true} {
		b := newTurnFixture(t, "plain", "cat config.json; { echo evil > config.json; rm -f config.json; mv config.json x; } 2>/dev/null; echo tried").supervised().sandboxed()
		file := b.putFile("config.json", "good ")
		b.opts.Private, b.opts.Config.SandboxRequired = []string{file}, true
		want := "message: tried"
		if harmless {
			b.opts.Readable, want = []string{file}, "message: good tried"
		}
		b.run().expectFrames(terminal.Done, want)
		if got, err := os.ReadFile(file); string(got) != "good " {
			t.Errorf("the config is %q, %v", got, err)
		}
	}
}

// Runbooks are configuration. A runbook folder that does not exist yet does not keep the agent from
// creating files beside it.
func TestAReadableFolderCannotBeChanged(t *testing.T) {
	const attack = `cat runbooks/a.md 2>/dev/null; { echo evil > runbooks/a.md; echo evil > runbooks/b.md; rm -rf runbooks; mv runbooks x; mkdir runbooks; } 2>/dev/null; echo tried`
	b := newTurnFixture(t, "plain", attack).supervised().sandboxed()
	folder := filepath.Join(b.workspace, "runbooks")
	b.opts.Private, b.opts.Readable, b.opts.Config.SandboxRequired = []string{folder}, []string{folder}, true
	musttest.Do(t, os.Mkdir(folder, 0o755))
	file := b.putFile("runbooks/a.md", "good ")
	b.run().expectFrames(terminal.Done, "message: good tried")
	names, err := filepath.Glob(filepath.Join(folder, "*"))
	if got, _ := os.ReadFile(file); string(got) != "good " || err != nil || len(names) != 1 {
		t.Errorf("the runbook is %q, and the folder has %q, %v", got, names, err)
	}
	other := newTurnFixture(t, "plain", "echo x > made && cat made").supervised().sandboxed()
	other.opts.Private = []string{filepath.Join(other.workspace, "runbooks")}
	other.opts.Readable = other.opts.Private
	other.run().expectFrames(terminal.Done, "message: x")
}

// An agent starts nanobot mcp to use its tools, in whatever folder the program is.
func TestAnAgentInASandboxCanStartTheGatewaysProgramIfItServesTools(t *testing.T) {
	program := filepath.Join(sandboxtest.Outside(t), "nanobot")
	musttest.Do(t, os.WriteFile(program, []byte("#!/bin/sh\necho started\n"), 0o755))
	b := newTurnFixture(t, "plain", program+` 2>/dev/null || echo refused; { echo x >> `+program+`; } 2>/dev/null && echo changed`).supervised().sandboxed()
	b.opts.Program = program
	b.run().expectFrames(terminal.Failed, "message: refused\nExit code: 2")
	b.opts.Socket = filepath.Join(b.workspace, "socket")
	b.run().expectFrames(terminal.Failed, "message: started\nExit code: 2")
}

// A command outside of turns runs in the folder and the sandbox of the chat's agent.
func TestTheExecEnvIsThatOfTheAgent(t *testing.T) {
	b := newTurnFixture(t, "plain", "true").supervised().sandboxed()
	secret := b.putFile("secret", "hush")
	b.opts.Private = []string{secret}
	b.opts.Config.Env = map[string]string{"OWN": "own"}
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	defer r.Close()
	place := musttest.Get(r.ExecEnv("cli", "local"))(t)
	got, err := shellrun.Run(t.Context(), "pwd; echo $OWN $NANOBOT_CHAT_ID; cat secret 2>/dev/null; exit 3", shellrun.Options{ExecEnv: place, Timeout: time.Minute, Head: 1 << 10})
	if want := b.workspace + "\nown local\n"; err != nil || got.Code != 3 || got.Stdout.String() != want {
		t.Errorf("%d, %q, %v, want %q", got.Code, got.Stdout, err, want)
	}
}

// Each chat has its own temporary files, which can be sent by the paths that the agent uses.
func TestAChatsTemporaryFilesAreItsOwn(t *testing.T) {
	b := newTurnFixture(t, "plain", `echo $TMPDIR $TMP $TEMP; ls $TMPDIR; echo x > $TMPDIR/a.png; echo $TMPDIR/a.png`).supervised().sandboxed()
	temp := filepath.Join(b.workspace, "users", "local", ".tmp")
	b.run().expectFrames(terminal.Done, "message: "+strings.Repeat(temp+" ", 2)+temp+"\n"+temp+"/a.png [a.png]")
	b.run().expectFrames(terminal.Done, "message: "+strings.Repeat(temp+" ", 2)+temp+"\n"+temp+"/a.png [a.png]") // nothing is left of the turn before
	b = newTurnFixture(t, "rich", `read -r line; echo x > /tmp/made.png && echo '{"type":"message","media":["/tmp/made.png"]}'`).supervised().sandboxed()
	r := musttest.Get(terminal.NewRunner(b.opts))(t)
	if strings.Contains(strings.Join(r.MissingFeatures(), ""), "no mount namespaces") {
		t.Skip("there is no /tmp of its own here")
	}
	b.run().expectFrames(terminal.Done, "message:  [made.png]")
	if _, err := os.Stat("/tmp/made.png"); err == nil {
		t.Error("it is in everybody's /tmp")
	}
}

// If the agent has its own /tmp, no path that it prints refers to a file in the shared /tmp.
func TestAFileInTheSharedTempFolderIsNotTheAgents(t *testing.T) {
	host := musttest.Get(os.MkdirTemp("/tmp", "everybodys-"))(t)
	t.Cleanup(func() { _ = os.RemoveAll(host) })
	musttest.Do(t, os.WriteFile(filepath.Join(host, "a.png"), []byte("everybody's"), 0o644))
	make := fmt.Sprintf(`mkdir -p %[1]s; printf own > %[1]s/a.png; `, host)
	for name, user := range map[string]string{"landlock": "", "user": "nobody"} {
		for way, path := range map[string]string{"its path": host + "/a.png", "a link": "/users/local/link.png", "a process": "/proc/self/root" + host + "/a.png", "dots": "/usr/../" + host + "/a.png"} {
			for _, roots := range [][]string{nil, {"/tmp"}, {"/"}} {
				for _, made := range []bool{true, false} {
					b := newTurnFixture(t, "rich", "")
					if user != "" {
						if os.Geteuid() != 0 {
							continue
						}
						b.opts.Workspace, b.opts.Config.User = openWorkspace(t), user
						b.workspace = b.opts.Workspace
					} else {
						b.supervised().sandboxed()
					}
					if r, err := terminal.NewRunner(b.opts); err != nil || strings.Contains(strings.Join(r.MissingFeatures(), ""), "no mount namespaces") {
						t.Skipf("there is no /tmp of its own here: %v", err)
					}
					named := path
					script := "ln -s " + host + "/a.png users/local/link.png; "
					if way == "a link" {
						named = b.workspace + path
					}
					if made {
						script = make + script
					}
					b.opts.Config.MediaRoots = roots
					b.opts.Config.Command = script + frame(object{"type": "message", "text": "", "media": []string{named}})
					b.run()
					if len(b.frames) != 1 {
						t.Fatalf("%s, %s, %v, made %v: %+v", name, way, roots, made, b.frames)
					}
					sent := ""
					for _, f := range b.frames[0].Checked {
						text := musttest.Get(os.ReadFile(f.Path))(t)
						sent += string(text)
					}
					want := "" // only plain paths are translated to the chat's own folder
					if made && (way == "its path" || way == "dots") {
						want = "own"
					}
					if sent != want {
						t.Errorf("%s, %s, %v, made %v: sent %q, said %q", name, way, roots, made, sent, b.frames[0].Text)
					}
				}
			}
		}
	}
}

// openWorkspace returns a workspace outside the temp folders that another user may enter.
func openWorkspace(t *testing.T) string {
	t.Helper()
	for _, place := range []string{"/srv", "/var/lib"} {
		if dir, err := os.MkdirTemp(place, "outside-"); err == nil {
			t.Cleanup(func() { _ = os.RemoveAll(dir) })
			musttest.Do(t, os.Chmod(dir, 0o755))
			return dir
		}
	}
	t.Skip("there is no folder to write to but the temp folders")
	return ""
}

func TestOnExitIsCalledWhileTheAnswerIsStillEmitted(t *testing.T) {
	b := newTurnFixture(t, "rich", frame(object{"type": "message", "text": "hi"}))
	b.opts.Supervisor = process.NewSupervisor(process.SupervisorOptions{})
	t.Cleanup(b.opts.Supervisor.Close)
	if !strings.Contains(b.opts.Supervisor.Describe(), "control group of its own") {
		t.Skip(b.opts.Supervisor.Describe())
	}
	exited := make(chan struct{})
	b.chat.OnReport = func(r terminal.Report) {
		if r == (terminal.AllExited{}) {
			close(exited)
		}
	}
	b.emit = func(terminal.Frame) error {
		<-exited // otherwise the turn never ends
		return nil
	}
	b.run().expectFrames("done", "message: hi")
}
