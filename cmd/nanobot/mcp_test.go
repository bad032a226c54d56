package main

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/musttest"
)

// mcpClient is a client of nanobot mcp.
type mcpClient struct {
	t *testing.T
	*mcp.ClientSession
}

// connectMCP connects a client of the SDK.
func connectMCP(t *testing.T, transport mcp.Transport) *mcpClient {
	t.Helper()
	session := musttest.Get(mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, nil).Connect(t.Context(), transport, nil))(t)
	return &mcpClient{t, session}
}

// call calls a tool and returns the result, or the error that it is.
func (c *mcpClient) call(tool string, arguments map[string]any) (fields map[string]any, isError bool) {
	c.t.Helper()
	got, err := c.CallTool(c.t.Context(), &mcp.CallToolParams{Name: tool, Arguments: arguments})
	if err != nil {
		c.t.Fatalf("%s: %v", tool, err)
	}
	musttest.Do(c.t, json.Unmarshal([]byte(got.Content[0].(*mcp.TextContent).Text), &fields))
	return fields, got.IsError
}

// prove sends a shell proof of the step that is shown.
func (c *mcpClient) prove(shown map[string]any, code int) map[string]any {
	c.t.Helper()
	challenge := shown["challenge"].(map[string]any)
	got, isError := c.call("kairos_next", map[string]any{
		"uri": shown["current_step"].(map[string]any)["uri"],
		"solution": map[string]any{
			"type": "shell", "nonce": challenge["nonce"], "proof_hash": challenge["proof_hash"],
			"shell": map[string]any{"exit_code": code, "stdout": "said the agent"},
		},
	})
	if isError {
		c.t.Fatalf("kairos_next: %v", got)
	}
	return got
}

// mcpBot writes a bot whose workspace has a runbook with two commands, and returns its config.
func mcpBot(t *testing.T, more string) string {
	t.Helper()
	dir := t.TempDir()
	book := "# Two\n\n## One\n\nPROOF OF WORK: test -e flag\n\n## Two\n\nPROOF OF WORK: timeout 5s true\n"
	for name, text := range map[string]string{
		"config.json":     `{"workspace": ".", "gateway": {"stateDir": "state"}, "terminal": {"command": "cat"}, "runbooks": {` + more + `}}`,
		"runbooks/two.md": book,
	} {
		path := filepath.Join(dir, name)
		musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o700))
		musttest.Do(t, os.WriteFile(path, []byte(text), 0o600))
	}
	return filepath.Join(dir, "config.json")
}

// mcpCommand is nanobot mcp for a bot.
func mcpCommand(t *testing.T, path string) (cmd *exec.Cmd, stderr *bytes.Buffer) {
	t.Helper()
	cmd, stderr = programCommand(t, "mcp", "--config", path), &bytes.Buffer{}
	cmd.Stderr = stderr
	return cmd, stderr
}

// TestMCPServesRunbooksWithoutADaemon drives the real program by the SDK's own client.
func TestMCPServesRunbooksWithoutADaemon(t *testing.T) {
	path := mcpBot(t, "")
	cmd, stderr := mcpCommand(t, path)
	c := connectMCP(t, &mcp.CommandTransport{Command: cmd})
	list, err := c.ListTools(t.Context(), nil)
	if err != nil || len(list.Tools) != 6 {
		t.Fatalf("tools: %+v, %v", list, err)
	}
	if got, isError := c.call("kairos_mint", map[string]any{"markdown_doc": "# Mine\n\n## Only\n\nPROOF OF WORK: true\n", "llm_model_id": "m"}); isError {
		t.Fatalf("kairos_mint: %v", got)
	}
	found, _ := c.call("kairos_search", map[string]any{"query": ""})
	if choices := found["choices"].([]any); len(choices) != 2 {
		t.Fatalf("kairos_search: %v", found)
	}
	shown, _ := c.call("kairos_begin", map[string]any{"uri": runbook.WorkspaceSource("two").StepURI(2)})
	if shown["message"] != "Redirected to step 1 of this protocol chain." {
		t.Errorf("kairos_begin: %v", shown)
	}
	end := c.prove(c.prove(shown, 0), 0) // trusted, although there is no file flag
	if end["next_action"] != "Run complete." {
		t.Errorf("kairos_next: %v", end)
	}
	if got, isError := c.call("kairos_attest", map[string]any{"uri": runbook.WorkspaceSource("two").StepURI(1), "outcome": "success", "message": "fine"}); isError || got["total_rated"] != 1.0 {
		t.Errorf("kairos_attest: %v", got)
	}
	if got, isError := c.call("kairos_dump", map[string]any{"uri": runbook.MintedSource("", "Mine").StepURI(1), "protocol": true}); isError || got["label"] != "Mine" {
		t.Errorf("kairos_dump: %v", got)
	}
	if err := c.Close(); err != nil || stderr.Len() > 0 {
		t.Errorf("the end: %v, stderr: %s", err, stderr)
	}
	audited, err := os.ReadFile(filepath.Join(filepath.Dir(path), "state", "audit.jsonl"))
	if err != nil || !strings.Contains(string(audited), `"event":"tool","decision":"allowed"`) || strings.Count(string(audited), `"tool":"kairos_`) != 7 {
		t.Errorf("audited: %s, %v", audited, err)
	}
	out, err := programCommand(t, "runbook", "verify", "--config", path, shown["run"].(string)).CombinedOutput()
	if err != nil || !strings.Contains(string(out), end["proof_hash"].(string)) {
		t.Errorf("runbook verify: %s, %v", out, err)
	}
}

func TestMCPExecutesTheCommandsThatAgentsReport(t *testing.T) {
	t.Parallel()
	path := mcpBot(t, `"agentShell": "check"`)
	cmd, _ := mcpCommand(t, path)
	c := connectMCP(t, &mcp.CommandTransport{Command: cmd})
	shown, _ := c.call("kairos_begin", map[string]any{"uri": runbook.WorkspaceSource("two").StepURI(1)})
	if got := c.prove(shown, 0); got["error_code"] != "COMMAND_FAILED" {
		t.Errorf("an agent that lies is told %v", got)
	}
	musttest.Do(t, os.WriteFile(filepath.Join(filepath.Dir(path), "flag"), nil, 0o600))
	if end := c.prove(c.prove(shown, 0), 0); end["next_action"] != "Run complete." {
		t.Errorf("kairos_next: %v", end)
	}
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	out, err := programCommand(t, "runbook", "export", "--config", path, shown["run"].(string)).Output()
	if err != nil || strings.Count(string(out), `\"by\":\"gateway\"`) != 2 || strings.Contains(string(out), "said the agent") {
		t.Errorf("runbook export: %s, %v", out, err)
	}
}

const mcpHello = `{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"sh","version":"1"}}}
{"jsonrpc":"2.0","method":"notifications/initialized"}
`

// TestMCPAnswersAllOfAFileOnStdin is what a script does: it writes, and reads when it has written.
func TestMCPAnswersAllOfAFileOnStdin(t *testing.T) {
	cmd, stderr := mcpCommand(t, mcpBot(t, ""))
	cmd.Stdin = strings.NewReader(mcpHello + "nonsense\n" + `{"jsonrpc":"2.0","id":1,"method":"tools/list"}`)
	out, err := cmd.Output()
	if err != nil || stderr.Len() > 0 {
		t.Errorf("%v, stderr: %s", err, stderr)
	}
	ids := map[any]bool{}
	for line := range strings.Lines(string(out)) {
		var m struct {
			Version string `json:"jsonrpc"`
			ID      any    `json:"id"`
		}
		if err := json.Unmarshal([]byte(line), &m); err != nil || m.Version != "2.0" {
			t.Errorf("stdout has %q: %v", line, err)
		}
		ids[m.ID] = true
	}
	if len(ids) != 3 || !ids[0.0] || !ids[1.0] || !ids[nil] {
		t.Errorf("answered: %v in %s", ids, out)
	}
}

func TestMCPEndsWithASignal(t *testing.T) {
	cmd, _ := mcpCommand(t, mcpBot(t, ""))
	in := musttest.Get(cmd.StdinPipe())(t)
	out := musttest.Get(cmd.StdoutPipe())(t)
	musttest.Do(t, cmd.Start())
	defer in.Close()
	musttest.Get(io.WriteString(in, mcpHello))(t)
	musttest.Get(out.Read(make([]byte, 1)))(t)
	musttest.Do(t, cmd.Process.Signal(syscall.SIGTERM))
	_, _ = io.Copy(io.Discard, out)
	if err := cmd.Wait(); err != nil {
		t.Error(err)
	}
}

func TestMCPSaysOnStderrWhatIsWrong(t *testing.T) {
	cmd, stderr := mcpCommand(t, filepath.Join(t.TempDir(), "none.json"))
	out, err := cmd.Output()
	var status *exec.ExitError
	if !errors.As(err, &status) || status.ExitCode() != 78 || len(out) > 0 || !strings.Contains(stderr.String(), "no such file") {
		t.Errorf("%v, stdout %q, stderr %q", err, out, stderr)
	}
}

// pipedDaemon is pipeToDaemon with a daemon in this process, and a client at its stdin and stdout.
type pipedDaemon struct {
	client, daemon net.Conn
	in, out        *os.File // the client's ends
	ended          chan error
}

func newPipedDaemon(ctx context.Context, t *testing.T) *pipedDaemon {
	t.Helper()
	l := musttest.Get(net.Listen("unix", filepath.Join(runtimeDir(t), "s")))(t)
	defer l.Close()
	p := &pipedDaemon{ended: make(chan error, 1)}
	p.client = musttest.Get(net.Dial("unix", l.Addr().String()))(t)
	p.daemon = musttest.Get(l.Accept())(t)
	stdin, in, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	out, stdout, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	p.in, p.out = in, out
	go func() {
		err := pipeToDaemon(ctx, p.client, stdio{stdin, stdout, io.Discard})
		_ = stdout.Close()
		p.ended <- err
	}()
	t.Cleanup(func() {
		for _, c := range []io.Closer{in, out, p.daemon} {
			_ = c.Close()
		}
	})
	return p
}

func TestMCPIsAPipeToTheDaemon(t *testing.T) {
	p := newPipedDaemon(t.Context(), t)
	path := mcpBot(t, "")
	served := make(chan error, 1)
	records := openRecords(t, path)
	go func() {
		served <- tools.Serve(t.Context(), p.daemon, tools.Options{Runs: runbook.Runs{Records: records}, Folder: runbook.Folder(filepath.Join(filepath.Dir(path), "runbooks"))})
	}()
	c := connectMCP(t, &mcp.IOTransport{Reader: p.out, Writer: p.in})
	shown, _ := c.call("kairos_begin", map[string]any{"uri": runbook.WorkspaceSource("two").StepURI(1)})
	c.prove(shown, 0)
	if err := c.Close(); err != nil {
		t.Error(err)
	}
	if err := errors.Join(<-p.ended, <-served); err != nil {
		t.Error(err)
	}
}

func TestMCPGivesTheDaemonTimeToAnswer(t *testing.T) {
	p := newPipedDaemon(t.Context(), t)
	musttest.Get(io.WriteString(p.in, "question\n"))(t)
	_ = p.in.Close()
	asked, err := io.ReadAll(p.daemon) // ends, because stdin has
	if err != nil || string(asked) != "question\n" {
		t.Fatalf("the daemon was sent %q, %v", asked, err)
	}
	musttest.Get(io.WriteString(p.daemon, "answer\n"))(t)
	_ = p.daemon.Close()
	if answer, err := io.ReadAll(p.out); err != nil || string(answer) != "answer\n" {
		t.Errorf("the client was sent %q, %v", answer, err)
	}
	if err := <-p.ended; err != nil {
		t.Error(err)
	}
}

func TestMCPSaysThatTheDaemonHasGone(t *testing.T) {
	p := newPipedDaemon(t.Context(), t)
	_ = p.daemon.Close() // while the client waits
	if err := <-p.ended; !errors.Is(err, errDaemonGone) {
		t.Errorf("it ended with %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	p = newPipedDaemon(ctx, t)
	cancel()
	if err := <-p.ended; err != nil {
		t.Errorf("after a signal it ended with %v", err)
	}
}

// openRecords opens the state of a bot.
func openRecords(t *testing.T, path string) runbook.Records {
	t.Helper()
	cfg := musttest.Get(loadConfig(path))(t)
	db := musttest.Get(openOrCreateStore(t.Context(), cfg))(t)
	t.Cleanup(func() { _ = db.Close() })
	return db
}
