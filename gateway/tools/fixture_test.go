package tools_test

import (
	"context"
	"encoding/json"
	"errors"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
	"go.uber.org/goleak"

	"nanobot/gateway/runbook"
	"nanobot/gateway/schedule"
	"nanobot/gateway/tools"
	"nanobot/terminal"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// memoryStore is a store in memory.
type memoryStore struct {
	mu     sync.Mutex
	values map[string]string
	err    error       // of all calls
	loads  chan string // gets the keys that are loaded, if it is there
}

func (m *memoryStore) LoadRecord(_ context.Context, key string) (string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.loads != nil {
		m.loads <- key
	}
	return m.values[key], m.err
}

func (m *memoryStore) ListRecords(_ context.Context, prefix string) (map[string]string, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil {
		return nil, m.err
	}
	found := map[string]string{}
	for k, v := range m.values {
		if strings.HasPrefix(k, prefix) {
			found[k] = v
		}
	}
	return found, nil
}

func (m *memoryStore) SwapRecord(_ context.Context, key, old, value string) (bool, error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.err != nil || m.values[key] != old {
		return false, m.err
	}
	m.values[key] = value
	if value == "" {
		delete(m.values, key)
	}
	return true, nil
}

// fixture is a store and a folder that several connections use.
type fixture struct {
	*testing.T
	store  *memoryStore
	folder string
	ahead  time.Duration // how much the clock is ahead
}

func newFixture(t *testing.T) *fixture {
	t.Helper()
	return &fixture{T: t, store: &memoryStore{values: map[string]string{}}, folder: t.TempDir()}
}

func (fx *fixture) runs() runbook.Runs {
	return runbook.Runs{Records: fx.store, Now: func() time.Time { return time.Now().Add(fx.ahead) }}
}

// write writes a runbook into the workspace.
func (fx *fixture) write(name, text string) {
	fx.Helper()
	if err := os.WriteFile(filepath.Join(fx.folder, name+".md"), []byte(text), 0o600); err != nil {
		fx.Fatal(err)
	}
}

func (fx *fixture) options() tools.Options {
	return tools.Options{Runs: fx.runs(), Folder: runbook.Folder(fx.folder)}
}

// client is a connection to a server.
type client struct {
	*fixture
	*mcp.ClientSession
	served chan error
}

// connect connects a client of the SDK to a server with these options.
func (fx *fixture) connect(o tools.Options, co *mcp.ClientOptions) *client {
	fx.Helper()
	return fx.connectAs("", o, co)
}

// connectAs is connect with a version of the protocol.
func (fx *fixture) connectAs(version string, o tools.Options, co *mcp.ClientOptions) *client {
	fx.Helper()
	ours, theirs := net.Pipe()
	c := &client{fixture: fx, served: make(chan error, 1)}
	go func() { c.served <- tools.Serve(fx.Context(), theirs, o) }()
	session, err := mcp.NewClient(&mcp.Implementation{Name: "test", Version: "1"}, co).
		Connect(fx.Context(), &mcp.IOTransport{Reader: ours, Writer: ours}, &mcp.ClientSessionOptions{ProtocolVersion: version})
	if err != nil {
		fx.Fatal(err)
	}
	c.ClientSession = session
	fx.Cleanup(func() {
		_ = session.Close()
		if err := <-c.served; err != nil {
			fx.Errorf("the server ended with %v", err)
		}
	})
	return c
}

// args are the arguments of a call.
type args = map[string]any

// result is the result of a call.
type result struct {
	*fixture
	isError bool
	text    string
	fields  args
}

// call calls a tool, and checks that the text and the structured content of the result are the
// same.
func (c *client) call(tool string, a any) result {
	c.Helper()
	got, err := c.CallTool(c.Context(), &mcp.CallToolParams{Name: tool, Arguments: a})
	if err != nil {
		c.Fatalf("%s: %v", tool, err)
	}
	return c.read(got)
}

func (fx *fixture) read(got *mcp.CallToolResult) result {
	fx.Helper()
	if len(got.Content) != 1 {
		fx.Fatalf("the result has %d contents, not one", len(got.Content))
	}
	text, ok := got.Content[0].(*mcp.TextContent)
	if !ok {
		fx.Fatalf("the content is a %T", got.Content[0])
	}
	res := result{fixture: fx, isError: got.IsError, text: text.Text}
	if err := json.Unmarshal([]byte(text.Text), &res.fields); err != nil {
		fx.Fatalf("the text %q is not JSON: %v", text.Text, err)
	}
	structured, err := json.Marshal(got.StructuredContent)
	if err != nil {
		fx.Fatal(err)
	}
	var same args
	if err := json.Unmarshal(structured, &same); err != nil || !equal(same, res.fields) {
		fx.Fatalf("the structured content %s is not the text %s", structured, text.Text)
	}
	return res
}

func equal(a, b any) bool {
	x, err1 := json.Marshal(a)
	y, err2 := json.Marshal(b)
	return err1 == nil && err2 == nil && string(x) == string(y)
}

// at returns a field by its path, such as challenge.nonce.
func (r result) at(path string) any {
	var value any = r.fields
	for name := range strings.SplitSeq(path, ".") {
		switch v := value.(type) {
		case map[string]any:
			value = v[name]
		case []any:
			if i := int(name[0] - '0'); i < len(v) {
				value = v[i]
			} else {
				value = nil
			}
		default:
			return nil
		}
	}
	return value
}

// str returns a field that is a string.
func (r result) str(path string) string {
	s, _ := r.at(path).(string)
	return s
}

// want checks fields: path, value, path, value.
func (r result) want(pairs ...any) result {
	r.Helper()
	for i := 0; i < len(pairs); i += 2 {
		if got := r.at(pairs[i].(string)); !equal(got, pairs[i+1]) {
			r.Fatalf("%s is %#v, not %#v, in %s", pairs[i], got, pairs[i+1], r.text)
		}
	}
	return r
}

// ok checks that the result is not an error.
func (r result) ok() result {
	r.Helper()
	if r.isError {
		r.Fatalf("the result is an error: %s", r.text)
	}
	return r
}

// fails checks that the result has isError, a code and a message that contains a text.
func (r result) fails(code, message string) result {
	r.Helper()
	if !r.isError || r.str("error") != code || !strings.Contains(r.str("message"), message) {
		r.Fatalf("the result (isError %v) is %s, not %s with %q", r.isError, r.text, code, message)
	}
	return r
}

// refused checks that the result is an answer with an error code, without isError.
func (r result) refused(code string) result {
	r.Helper()
	r.ok()
	return r.want("error_code", code)
}

// solution returns a solution of the challenge of a result with a field of a type.
func (r result) solution(kind string, field any) args {
	r.Helper()
	if r.str("challenge.nonce") == "" {
		r.Fatalf("there is no challenge in %s", r.text)
	}
	return args{"type": kind, "nonce": r.str("challenge.nonce"), "proof_hash": r.str("challenge.proof_hash"), kind: field}
}

// next proves the step of a result.
func (c *client) next(r result, kind string, field any) result {
	c.Helper()
	return c.call("kairos_next", args{"uri": r.str("current_step.uri"), "solution": r.solution(kind, field)})
}

// begin finds a runbook by its label and begins a run.
func (c *client) begin(label string) result {
	c.Helper()
	for _, b := range c.call("kairos_search", args{"query": ""}).ok().at("choices").([]any) {
		if b := b.(map[string]any); b["chain_label"] == label {
			return c.call("kairos_begin", args{"uri": b["uri"]}).ok()
		}
	}
	c.Fatalf("there is no runbook %s", label)
	return result{}
}

// shell is the field of a shell proof.
func shell(code any) args { return args{"exit_code": code, "stdout": "said", "duration_seconds": 0.5} }

// step returns the text of a step with a challenge.
func step(label, challenge string) string {
	return "## " + label + "\n\nDo " + label + ".\n\n```json\n{\"challenge\": " + challenge + "}\n```\n\n"
}

const (
	shellChallenge   = `{"type": "shell", "shell": {"cmd": "make test", "timeout_seconds": 5}}`
	mcpChallenge     = `{"type": "mcp", "mcp": {"tool_name": "deploy"}}`
	inputChallenge   = `{"type": "user_input", "user_input": {"prompt": "Ship it?"}}`
	commentChallenge = `{"type": "comment", "comment": {"min_length": 20}}`
)

// fourSteps returns a runbook with a step of each type.
func fourSteps(label string) string {
	return "# " + label + "\n\nHow we ship.\n\n" + step("Test", shellChallenge) + step("Deploy", mcpChallenge) + step("Approve", inputChallenge) + step("Sum up", commentChallenge)
}

const (
	testComment = "All is well, and <b>fast</b> & cheap."
	genesis     = runbook.Genesis
)

// fakeChat is a chat whose methods record their calls.
type fakeChat struct {
	name string
	ask  func(ctx context.Context, q terminal.Question) (terminal.Answer, error)

	mu       sync.Mutex
	messages []tools.Message
	progress []string
	found    []tools.HistoryMessage
	query    string
	limit    int
	err      error // of all calls

	schedules []schedule.Listed
	prompt    bool // of the last schedule
}

func (c *fakeChat) Name() string { return c.name }

func (c *fakeChat) Send(_ context.Context, m tools.Message) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.err == nil {
		c.messages = append(c.messages, m)
	}
	return c.err
}

func (c *fakeChat) Ask(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
	if c.ask == nil {
		return terminal.Answer{}, errors.New("nobody answered")
	}
	return c.ask(ctx, q)
}

func (c *fakeChat) Progress(_ context.Context, text string) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.progress = append(c.progress, text)
	return c.err
}

func (c *fakeChat) Search(_ context.Context, query string, limit int) ([]tools.HistoryMessage, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.query, c.limit = query, limit
	return c.found, c.err
}

func (c *fakeChat) Schedule(_ context.Context, s schedule.Spec, prompt bool) (schedule.Listed, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	plan, mistakes := schedule.Parse(s)
	if len(mistakes) > 0 {
		return schedule.Listed{}, mistakes[0]
	}
	l := schedule.Listed{Plan: plan, Next: plan.Next(time.Now(), 1)[0]}
	l.Name, c.prompt = "chat.x", prompt
	c.schedules = append(c.schedules, l)
	return l, c.err
}

func (c *fakeChat) Schedules(context.Context) ([]schedule.Listed, error) { return c.schedules, c.err }

func (c *fakeChat) CancelSchedule(_ context.Context, name string) error {
	c.schedules = slices.DeleteFunc(c.schedules, func(l schedule.Listed) bool { return l.Name == name })
	return c.err
}

func (c *fakeChat) Zone() *time.Location { return time.FixedZone("CET", 3600) }

var errTest = errors.New("disk on fire")
