package checkagent_test

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"encoding/xml"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"go.uber.org/zap"
	"golang.org/x/sync/errgroup"

	"nanobot/cmd/nanobot/checkagent"
	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/pausetest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/blocks"
	"nanobot/terminal/keys"
	"nanobot/terminal/plain"
	"nanobot/terminal/process"
	"nanobot/terminal/rich"
)

var protocols = []terminal.Description{plain.Describe(), rich.Describe(), keys.Describe(), keys.DescribeScreen(), blocks.Describe()}

// supervisor is the one of this process: it reaps what others would wait for.
var supervisor = sync.OnceValue(func() *process.Supervisor { return process.NewSupervisor(process.SupervisorOptions{}) })

// environ is the environment of the agents: with the Python that runs, rather than a slow wrapper,
// and without the start files of this user's shell, which may be slow, too.
var environ = sync.OnceValue(func() []string {
	output := func(name string, args ...string) string {
		out, _ := exec.Command(name, args...).Output() // without the program, agents that need it fail
		return strings.TrimSpace(string(out))
	}
	home, _ := os.UserHomeDir()
	environ := slices.DeleteFunc(os.Environ(), func(v string) bool { return strings.HasPrefix(v, "PYTHONUNBUFFERED=") })
	return append(
		environ, "HOME=/nonexistent", "GOCACHE="+output("go", "env", "GOCACHE"),
		"RUSTUP_HOME="+cmp.Or(os.Getenv("RUSTUP_HOME"), filepath.Join(home, ".rustup")),
		"PATH="+output("python3", "-c", "import os, sys; print(os.path.dirname(sys.executable))")+":"+os.Getenv("PATH"),
	)
})

// report is the output of check-agent --json.
type report struct {
	Cases []struct{ ID, Verdict, Rule, Detail, Fix string }
	// Failed is a pointer because the key must be there.
	Failed *int
}

// broken returns the IDs of the cases that are not ok.
func (r report) broken() (ids []string) {
	for _, c := range r.Cases {
		if c.Verdict != "ok" {
			ids = append(ids, c.ID)
		}
	}
	return ids
}

// loadConfig loads a config with a minimal environment; path is "" for the defaults.
func loadConfig(t *testing.T, path string) *config.Config {
	t.Helper()
	var all config.Extensions
	for _, p := range protocols {
		all.Protocols = append(all.Protocols, p.Protocol)
	}
	return musttest.Get(config.Load(path, []string{"STATE_DIRECTORY=" + t.TempDir()}, all))(t)
}

// options returns the options of a check of the agent in a config.
func options(cfg *config.Config) (o checkagent.Options, stdout, stderr *bytes.Buffer) {
	stdout, stderr = &bytes.Buffer{}, &bytes.Buffer{}
	i := slices.IndexFunc(protocols, func(p terminal.Description) bool { return p.Name == cfg.Terminal.Protocol })
	return checkagent.Options{
		Config: cfg, Protocol: protocols[i], Out: stdout, Err: stderr, JSON: true,
		NewRunner: func(cfg *config.Config, wrap func(terminal.Protocol) terminal.Protocol) (*terminal.Runner, error) {
			p := protocols[i].Open(terminal.OpenOptions{Config: cfg.Terminal, MaxConcurrent: cfg.Gateway.MaxConcurrent})
			return terminal.NewRunner(terminal.Options{
				Config: cfg.Terminal, Workspace: cfg.Workspace, Protocol: wrap(p), Environ: slices.Clone(environ()), Supervisor: supervisor(), Log: zap.NewNop(),
			})
		},
	}, stdout, stderr
}

// check checks an agent and returns the report and the exit status.
func check(t *testing.T, o checkagent.Options, stdout *bytes.Buffer) (report, int) {
	t.Helper()
	err := checkagent.Run(t.Context(), o)
	var status exit.Error
	if err != nil && !errors.As(err, &status) {
		t.Error(err)
	}
	var r report
	if err := json.Unmarshal(stdout.Bytes(), &r); err != nil {
		t.Error(err)
	}
	return r, status.Status
}

// pauseTolerance is how long this process may stand still without a change of the findings: agents
// are told apart by how long they take.
const pauseTolerance = 50 * time.Millisecond

// TestEveryWrongAgentIsFound checks agents that break one rule each. The head of each file says
// which. Most of the time the checks wait, so that many run at the same time.
func TestEveryWrongAgentIsFound(t *testing.T) {
	t.Parallel()
	killtest.SkipIfShort(t)
	folder := musttest.Get(filepath.Abs("testdata/wrong"))(t)
	entries := musttest.Get(os.ReadDir(folder))(t)
	var group errgroup.Group
	group.SetLimit(4)
	for _, e := range entries {
		group.Go(func() error {
			t.Run(e.Name(), func(t *testing.T) {
				path := filepath.Join(folder, e.Name())
				pausetest.Try(t, pauseTolerance, func() error { return checkWrongAgent(t, path) })
			})
			return nil
		})
	}
	_ = group.Wait()
	if len(entries) < 25 {
		t.Errorf("there are %d wrong agents", len(entries))
	}
}

func checkWrongAgent(t *testing.T, path string) error {
	t.Helper()
	source := string(musttest.Get(os.ReadFile(path))(t))
	cfg := loadConfig(t, "")
	cfg.SetProtocol(rich.Name)
	interpreter := "sh"
	if strings.HasSuffix(path, ".py") {
		interpreter = "python3"
	}
	cfg.Terminal.Command, cfg.Workspace = interpreter+" "+path, t.TempDir()
	for _, setting := range strings.Fields(head(source, "settings")) {
		switch setting {
		case "interactive":
			cfg.Terminal.Interactive = true
		case "inject":
			cfg.Gateway.WhileRunning = "inject"
		case "short-lines":
			cfg.Terminal.MaxLine = 200 << 10
		default:
			cfg.SetProtocol(setting)
		}
	}
	o, stdout, stderr := options(cfg)
	o.Limit = 12 * time.Second
	got, status := check(t, o, stdout)
	if got.Failed == nil || status != min(*got.Failed, 1) {
		t.Errorf("exit status %d", status)
	}
	if want := head(source, "breaks"); !slices.Equal(got.broken(), []string{want}) {
		return fmt.Errorf("found %v instead of %s\n%s%s", got.broken(), want, stderr, stdout)
	}
	return nil
}

// head returns the value of a line in the head of an agent.
func head(source, key string) string {
	if m := regexp.MustCompile(`(?m)^# ` + key + `: (.*)$`).FindStringSubmatch(source); m != nil {
		return m[1]
	}
	return ""
}

// TestEveryExampleAgentPasses checks the agents of deploy/examples. Those that need the operator's
// consent are run if they have no model.
func TestEveryExampleAgentPasses(t *testing.T) {
	t.Parallel()
	killtest.SkipIfShort(t)
	const examples = "../../../deploy/examples"
	_, noRust := exec.LookPath("rustc")
	consent := map[string]bool{ // whether the agent can run here: it has no model behind it
		"blocks-ollama": false, "blocks-scripted": true, "keys-go": true, "keys-node": true, "keys-python": false,
		"keys-rust": noRust == nil, "keys-scripted": true, "screen-shell": true,
	}
	entries := musttest.Get(filepath.Glob(examples + "/*/config.json"))(t)
	var group errgroup.Group
	group.SetLimit(3)
	for _, path := range entries {
		name := filepath.Base(filepath.Dir(path))
		group.Go(func() error {
			t.Run(name, func(t *testing.T) {
				pausetest.Try(t, pauseTolerance, func() error { return checkExample(t, path, consent) })
			})
			return nil
		})
	}
	_ = group.Wait()
	if len(entries) < 20 {
		t.Errorf("found %d examples", len(entries))
	}
}

func checkExample(t *testing.T, path string, consent map[string]bool) error {
	t.Helper()
	folder := t.TempDir()
	musttest.Do(t, os.CopyFS(folder, os.DirFS(filepath.Dir(path))))
	cfg := loadConfig(t, filepath.Join(folder, "config.json"))
	if files, found := strings.CutPrefix(cfg.Terminal.Command, "go run "); found { // which links once for each turn
		build := exec.CommandContext(t.Context(), "go", append([]string{"build", "-o", "agent"}, strings.Fields(files)...)...)
		build.Dir = folder
		musttest.Do(t, build.Run())
		cfg.Terminal.Command = "./agent"
	}
	o, stdout, stderr := options(cfg)
	modelless, needsConsent := consent[filepath.Base(filepath.Dir(path))]
	wanttest.Equal(t, "needs --yes", o.Protocol.NeedsConsent != "", needsConsent)
	if needsConsent {
		var status exit.Error
		wanttest.Equal(t, "is refused without --yes", errors.As(checkagent.Run(t.Context(), o), &status), true)
		wanttest.Equal(t, "exit status", status.Status, exit.Usage)
		wanttest.Equal(t, "output", stdout.String()+stderr.String(), "")
	}
	if needsConsent && !modelless {
		return nil
	}
	o.Yes = true
	got, status := check(t, o, stdout)
	for _, c := range got.Cases {
		if c.Verdict != "ok" {
			t.Logf("%s: %s: %s", c.ID, c.Verdict, c.Detail)
		}
	}
	if status != 0 || len(got.Cases) < 8 {
		return fmt.Errorf("exit status %d\n%s%s", status, stderr, stdout)
	}
	return nil
}

// TestThePrintedNumberOfTurnsIsRun counts the starts of an agent, and compares the reports.
func TestThePrintedNumberOfTurnsIsRun(t *testing.T) {
	t.Parallel()
	pausetest.Try(t, pauseTolerance, func() error { return checkNumberOfTurns(t) })
}

func checkNumberOfTurns(t *testing.T) error {
	t.Helper()
	cfg := loadConfig(t, "")
	cfg.SetProtocol(rich.Name)
	count := filepath.Join(t.TempDir(), "count")
	cfg.Terminal.Command, cfg.Workspace = "echo . >>"+count+`; read -r line; echo '{"type":"message","text":"Hi."}'`, t.TempDir()
	o, stdout, stderr := options(cfg)
	o.JUnit = filepath.Join(t.TempDir(), "report.xml")
	got, _ := check(t, o, stdout)
	var turns int
	musttest.Get(fmt.Sscanf(stderr.String(), "%d turns", &turns))(t)
	var suite struct {
		Tests int        `xml:"tests,attr"`
		Cases []struct{} `xml:"testcase"`
	}
	musttest.Do(t, xml.Unmarshal(musttest.Get(os.ReadFile(o.JUnit))(t), &suite))
	wanttest.Equal(t, "tests in the report", suite.Tests, len(got.Cases))
	wanttest.Equal(t, "cases in the report", len(suite.Cases), len(got.Cases))
	if ran := strings.Count(string(musttest.Get(os.ReadFile(count))(t)), "."); ran != turns || *got.Failed != 0 {
		return fmt.Errorf("%d turns of %d ran, and %d cases failed\n%s", ran, turns, *got.Failed, stdout)
	}
	return nil
}

func TestAMessageThatWasNotReadIsNotTried(t *testing.T) {
	t.Parallel()
	pausetest.Try(t, pauseTolerance, func() error {
		cfg := loadConfig(t, "")
		cfg.SetProtocol(rich.Name)
		cfg.Gateway.WhileRunning = "inject"
		cfg.Terminal.Command, cfg.Workspace = "read -r line; echo Hi.", t.TempDir()
		o, stdout, _ := options(cfg)
		got, _ := check(t, o, stdout)
		wanttest.Equal(t, "is tried", strings.Contains(stdout.String(), `"inject"`), false)
		if wrong := got.broken(); len(wrong) > 0 {
			return fmt.Errorf("%v is wrong\n%s", wrong, stdout)
		}
		return nil
	})
}

func TestNothingRunsIfTheReportCannotBeWritten(t *testing.T) {
	t.Parallel()
	cfg := loadConfig(t, "")
	cfg.SetProtocol(rich.Name)
	mark := filepath.Join(t.TempDir(), "mark")
	cfg.Terminal.Command, cfg.Workspace = "touch "+mark, t.TempDir()
	o, stdout, _ := options(cfg)
	o.JUnit = filepath.Join(t.TempDir(), "missing", "report.xml")
	var status exit.Error
	wanttest.Equal(t, "is refused", errors.As(checkagent.Run(t.Context(), o), &status), true)
	wanttest.Equal(t, "exit status", status.Status, exit.Usage)
	_, err := os.Stat(mark)
	wanttest.Equal(t, "no turn has run", errors.Is(err, os.ErrNotExist), true)
	wanttest.Equal(t, "output", stdout.String(), "")
}

func TestAnInterruptedCheckEndsItsAgents(t *testing.T) {
	t.Parallel()
	cfg := loadConfig(t, "")
	cfg.SetProtocol(rich.Name)
	started := filepath.Join(t.TempDir(), "started")
	musttest.Do(t, makeFIFO(started))
	cfg.Terminal.Command, cfg.Workspace = "echo $$ >"+started+"; sleep 1000", t.TempDir()
	o, stdout, _ := options(cfg)
	ctx, cancel := context.WithCancel(t.Context())
	var pid int
	go func() {
		defer cancel()
		content, _ := os.ReadFile(started) // waits for the agent
		_, _ = fmt.Sscan(string(content), &pid)
	}()
	var status exit.Error
	wanttest.Equal(t, "is interrupted", errors.As(checkagent.Run(ctx, o), &status), true)
	wanttest.Equal(t, "exit status", status.Status, exit.Interrupted)
	wanttest.Equal(t, "output", stdout.String(), "")
	<-ctx.Done()
	_, err := os.Stat(fmt.Sprint("/proc/", pid))
	wanttest.Equal(t, "the agent is gone", pid > 0 && errors.Is(err, os.ErrNotExist), true)
}

// TestEveryCaseIsDocumented finds the ID of each case in the manual, and the section of its rule.
func TestEveryCaseIsDocumented(t *testing.T) {
	t.Parallel()
	kit := string(musttest.Get(os.ReadFile("../../../docs/kit.md"))(t))
	manual := string(musttest.Get(os.ReadFile("../../../docs/protocol.md"))(t))
	anchors := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^##+ (.*)$`).FindAllStringSubmatch(manual, -1) {
		name := regexp.MustCompile("[^a-z0-9 -]").ReplaceAllString(strings.ToLower(m[1]), "")
		anchors["docs/protocol.md#"+strings.ReplaceAll(name, " ", "-")] = true
	}
	for id, rule := range checkagent.Rules() {
		wanttest.Equal(t, id+" is in docs/kit.md", strings.Contains(kit, "`"+id+"`"), true)
		wanttest.Equal(t, rule+" is a section", anchors[rule], true)
	}
}

func TestSecretsOfTheAgentAreNotPrinted(t *testing.T) {
	t.Parallel()
	pausetest.Try(t, pauseTolerance, func() error { return checkSecrets(t) })
}

func checkSecrets(t *testing.T) error {
	t.Helper()
	const secret = "sk-hush-hush-hush"
	cfg := loadConfig(t, "")
	cfg.SetProtocol(rich.Name)
	cfg.Terminal.Env["KEY"] = secret
	cfg.Terminal.Command = `read -r line; echo "$KEY" >&2; echo '{"type":"'$KEY'"}'; echo '{"type":"error","text":"'$KEY'"}'; sh -c "sleep 60; echo $KEY" >&- 2>&- &`
	cfg.Workspace = t.TempDir()
	o, stdout, _ := options(cfg)
	o.JUnit = filepath.Join(t.TempDir(), "report.xml")
	got, _ := check(t, o, stdout)
	printed := stdout.String() + string(musttest.Get(os.ReadFile(o.JUnit))(t))
	wanttest.Equal(t, "prints the secret", strings.Contains(printed, "hush"), false)
	for _, id := range []string{"unknown-frame", "child-left"} {
		if !slices.Contains(got.broken(), id) {
			return fmt.Errorf("does not find %s\n%s", id, stdout)
		}
	}
	return nil
}
