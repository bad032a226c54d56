package tools_test

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"os"
	"strings"
	"syscall"
	"testing"
	"unicode/utf8"

	"nanobot/gateway/tools"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// rawClient is a client that writes and reads lines.
type rawClient struct {
	*fixture
	conn   *net.UnixConn
	lines  *bufio.Reader
	served chan error
}

// dial connects a rawClient over a pair of sockets.
func (fx *fixture) dial(ctx context.Context, o tools.Options) *rawClient {
	fx.Helper()
	pair, err := syscall.Socketpair(syscall.AF_UNIX, syscall.SOCK_STREAM, 0)
	if err != nil {
		fx.Fatal(err)
	}
	ends := [2]*net.UnixConn{}
	for i, fd := range pair {
		f := os.NewFile(uintptr(fd), "socket")
		c, err := net.FileConn(f)
		if err != nil {
			fx.Fatal(err)
		}
		f.Close()
		ends[i] = c.(*net.UnixConn)
	}
	c := &rawClient{fixture: fx, conn: ends[0], lines: bufio.NewReader(ends[0]), served: make(chan error, 1)}
	go func() { c.served <- tools.Serve(ctx, ends[1], o) }()
	fx.Cleanup(func() {
		_ = c.conn.Close()
		c.ended()
	})
	return c
}

// ended waits for the end of the server.
func (c *rawClient) ended() error {
	err := <-c.served
	c.served <- err
	return err
}

func (c *rawClient) send(lines ...string) {
	c.Helper()
	if _, err := io.WriteString(c.conn, strings.Join(lines, "\n")+"\n"); err != nil {
		c.Fatal(err)
	}
}

// message is a line that the server wrote.
type message struct {
	ID     any            `json:"id"`
	Result map[string]any `json:"result"`
	Error  struct {
		Code    int    `json:"code"`
		Message string `json:"message"`
	} `json:"error"`
}

func (c *rawClient) receive() (m message) {
	c.Helper()
	line, err := c.lines.ReadString('\n')
	if err != nil {
		c.Fatalf("read %q: %v", line, err)
	}
	if err := json.Unmarshal([]byte(line), &m); err != nil {
		c.Fatalf("%q: %v", line, err)
	}
	return m
}

const (
	initialize  = `{"jsonrpc":"2.0","id":"first","method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"raw","version":"1"}}}`
	initialized = `{"jsonrpc":"2.0","method":"notifications/initialized"}`
)

func toolCall(id any, name string, a any) string {
	arguments, _ := json.Marshal(a)
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%v,"method":"tools/call","params":{"name":%q,"arguments":%s}}`, id, name, arguments)
}

// hello begins the session.
func (c *rawClient) hello() {
	c.Helper()
	c.send(initialize, initialized)
	if m := c.receive(); m.ID != "first" || m.Result["protocolVersion"] != "2025-06-18" || m.Result["instructions"] == "" {
		c.Fatalf("the server says %+v", m)
	}
}

// ping checks that the server still answers.
func (c *rawClient) ping() {
	c.Helper()
	c.send(`{"jsonrpc":"2.0","id":"ping","method":"ping"}`)
	if m := c.receive(); m.ID != "ping" || m.Error.Code != 0 {
		c.Fatalf("a ping is answered with %+v", m)
	}
}

func TestALineThatIsNoMessageIsRefusedAndTheNextOneAnswered(t *testing.T) {
	fx := newFixture(t)
	c := fx.dial(t.Context(), fx.options())
	c.hello()
	for _, row := range []struct {
		line string
		code int
		id   any
	}{
		{"hello", -32700, nil},
		{`{"jsonrpc":"2.0","id":5,"method":`, -32700, 5.0},
		{`{"jsonrpc":"2.0","id":5`, -32700, nil},
		{`{"jsonrpc":"2.0","id":5,"method":}`, -32700, 5.0},
		{`{"id":6,"method":"ping"}`, -32600, 6.0},
		{`{"jsonrpc":"1.0","id":"six","method":"ping"}`, -32600, "six"},
		{`{"jsonrpc":"2.0","id":{"a":1},"method":"ping"}`, -32600, nil},
		{`{"jsonrpc":"2.0","id":7,"method":7}`, -32600, 7.0},
		{`{"jsonrpc":"2.0"}`, -32600, nil},
		{`[]`, -32600, nil},
		{`[{"jsonrpc":"2.0","id":8,"method":"ping"}]`, -32600, nil},
		{`null`, -32600, nil},
		{`"text"`, -32600, nil},
		{strings.Repeat("[", 100_000), -32700, nil},
		{`{"jsonrpc":"2.0","id":9,"method":"ping","params":` + strings.Repeat("[", 5000) + strings.Repeat("]", 5000) + `}`, -32600, 9.0},
	} {
		c.send(row.line)
		if m := c.receive(); m.Error.Code != row.code || m.ID != row.id || m.Error.Message == "" {
			t.Errorf("%.60q is answered with %+v", row.line, m)
		}
	}
	c.send("", "  \r") // blank lines are none
	c.ping()
}

func TestCallsOfTheWrongFormAreAnswered(t *testing.T) {
	fx := newFixture(t)
	c := fx.dial(t.Context(), fx.options())
	c.hello()
	for _, line := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call"}`,
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":null}`,
		`{"jsonrpc":"2.0","id":3,"method":"tools/call","params":[1]}`,
		`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"no_such_tool"}}`,
		`{"jsonrpc":"2.0","id":5,"method":"tools/call","params":{"name":7}}`,
		`{"jsonrpc":"2.0","id":6,"method":"no/such/method"}`,
		`{"jsonrpc":"2.0","id":7,"method":""}`,
		initialize,
	} {
		c.send(line)
		if m := c.receive(); m.Error.Message == "" {
			t.Errorf("%s is answered with %+v", line, m)
		}
	}
	c.send(
		`{"jsonrpc":"2.0","id":99,"result":{}}`,                                             // nobody has asked
		`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":12345}}`, // nobody calls
		`{"jsonrpc":"2.0","method":"no/such/notification"}`,
	)
	c.send(toolCall(8, "kairos_search", args{"query": ""}))
	if m := c.receive(); m.ID != 8.0 || m.Result["isError"] != nil {
		t.Errorf("a call is answered with %+v", m)
	}
}

func TestALineThatIsTooLongIsSkippedAndItsIDAnswered(t *testing.T) {
	fx := newFixture(t)
	c := fx.dial(t.Context(), fx.options())
	c.hello()
	long := strings.Repeat(`x\"}]`, 900_000)
	for id, line := range map[any]string{
		21.0: toolCall(21, "kairos_mint", args{"markdown_doc": long}),
		"20": `{"params":{"arguments":{"id":1,"text":"` + long + `"}}, "jsonrpc": "2.0", "id": "20"}`,
		"22": `{"params":{"arguments":{"id":1,"text":"` + long + `"}},"jsonrpc":"2.0","id":"22","method":"tools/call"}`,
		nil:  strings.Repeat("x", 10_000_000),
	} {
		sent := make(chan struct{})
		go func() { defer close(sent); c.send(line) }()
		if m := c.receive(); m.ID != id || m.Error.Code != -32001 || !strings.Contains(m.Error.Message, "2097152") {
			t.Errorf("a long line is answered with %+v, not to %v", m, id)
		}
		<-sent
	}
	c.ping()
	c.send(toolCall(23, "kairos_mint", args{"markdown_doc": strings.Repeat("x", tools.MaxLine-1000)}))
	if m := c.receive(); m.ID != 23.0 || m.Result["isError"] != true {
		t.Errorf("a line that is just short enough is answered with %.300v", m)
	}
}

// TestCallsBeforeTheEndOfTheInputAreAnswered is a client that writes all it has and then
// reads.
func TestCallsBeforeTheEndOfTheInputAreAnswered(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.dial(t.Context(), fx.options())
	const calls = 50
	lines := []string{initialize, initialized}
	for i := range calls {
		lines = append(lines, toolCall(i, "kairos_search", args{"query": "ship"}))
	}
	if _, err := io.WriteString(c.conn, strings.Join(lines, "\n")); err != nil { // the last line lacks its newline
		t.Fatal(err)
	}
	musttest.Do(t, c.conn.CloseWrite())
	seen := map[any]bool{}
	for range calls + 1 {
		m := c.receive()
		seen[m.ID] = m.Result != nil
	}
	if len(seen) != calls+1 || !seen["first"] || !seen[float64(calls-1)] {
		t.Errorf("answered: %v", seen)
	}
	if line, err := c.lines.ReadString('\n'); err != io.EOF {
		t.Errorf("then comes %q, %v", line, err)
	}
	if err := c.ended(); err != nil {
		t.Error(err)
	}
}

// waitingChat returns a chat whose questions are never answered.
func waitingChat() (k *fakeChat, asked chan string, gone chan error) {
	asked, gone = make(chan string, 100), make(chan error, 100)
	return &fakeChat{name: "telegram:1", ask: func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
		asked <- q.Text
		<-ctx.Done()
		gone <- ctx.Err()
		return terminal.Answer{}, ctx.Err()
	}}, asked, gone
}

func TestTheEndOfAClientEndsItsQuestions(t *testing.T) {
	for name, leave := range map[string]func(*rawClient, context.CancelFunc){
		"closed": func(c *rawClient, _ context.CancelFunc) { _ = c.conn.Close() },
		"half closed": func(c *rawClient, _ context.CancelFunc) {
			_ = c.conn.CloseWrite()
			if m := c.receive(); m.ID != 1.0 || m.Result["isError"] != true {
				t.Errorf("the call is answered with %+v", m)
			}
		},
		"shut down": func(_ *rawClient, cancel context.CancelFunc) { cancel() },
	} {
		t.Run(name, func(t *testing.T) {
			fx := newFixture(t)
			k, asked, gone := waitingChat()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			c := fx.dial(ctx, fx.inChat(k))
			c.hello()
			c.send(toolCall(1, "ask_user", args{"question": "Still there?"}))
			<-asked
			leave(c, cancel)
			<-gone
			if err := c.ended(); err != nil {
				t.Error(err)
			}
		})
	}
}

func TestACancelledCallEndsItsQuestionAlone(t *testing.T) {
	fx := newFixture(t)
	k, asked, gone := waitingChat()
	c := fx.dial(t.Context(), fx.inChat(k))
	c.hello()
	c.send(toolCall(1, "ask_user", args{"question": "One?"}), toolCall(2, "ask_user", args{"question": "Two?"}))
	<-asked
	<-asked
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`)
	<-gone
	if m := c.receive(); m.ID != 1.0 || m.Result["isError"] != true {
		t.Errorf("the call is answered with %+v", m)
	}
	c.ping()
	if len(gone) != 0 {
		t.Error("the other question ended, too")
	}
}

func TestTooManyCallsAtOnceAreRefused(t *testing.T) {
	fx := newFixture(t)
	fx.write("gate", gate)
	shown := fx.connect(fx.inChat(&fakeChat{name: "telegram:1"}), nil).begin("Gate")
	asked, gone := make(chan struct{}, 100), make(chan struct{}, 100)
	o := fx.inChat(&fakeChat{name: "telegram:1"})
	o.Decide = func(ctx context.Context, _ string, _ int) error {
		asked <- struct{}{}
		<-ctx.Done()
		gone <- struct{}{}
		return ctx.Err()
	}
	c := fx.dial(t.Context(), o)
	c.hello()
	for i := range 64 {
		c.send(toolCall(i, "kairos_next", args{"uri": shown.str("current_step.uri"), "solution": shown.solution("user_input", args{"confirmation": "yes"})}))
		<-asked
	}
	c.send(`{"jsonrpc":"2.0","id":"one too many","method":"ping"}`)
	if m := c.receive(); m.ID != "one too many" || m.Error.Code != -32002 {
		t.Fatalf("the server says %+v", m)
	}
	c.send(`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`)
	if m := c.receive(); m.ID != 7.0 {
		t.Fatalf("the server says %+v", m)
	}
	c.ping()
	_ = c.conn.Close()
	for range 64 {
		<-gone
	}
}

func TestAClientThatDoesNotReadIsDisconnected(t *testing.T) {
	fx := newFixture(t)
	ctx, cancel := context.WithCancel(t.Context())
	ours, theirs := net.Pipe() // which has no buffer
	served := make(chan error, 1)
	go func() { served <- tools.Serve(ctx, theirs, fx.options()) }()
	musttest.Get(io.WriteString(ours, initialize+"\n"))(t)
	musttest.Get(io.WriteString(ours, initialized+"\n"+toolCall(1, "kairos_search", args{})+"\n"))(t)
	cancel()
	<-served
	_ = ours.Close()
}

func TestInvalidUTF8IsReplacedBeforeItIsRecorded(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	shown := fx.connect(fx.options(), nil).begin("Ship")
	c := fx.dial(t.Context(), fx.options())
	c.hello()
	proof := toolCall(1, "kairos_next", args{"uri": shown.str("current_step.uri"), "solution": shown.solution("shell", args{"exit_code": 0, "stdout": "HERE"})})
	c.send(strings.Replace(proof, "HERE", "\xff\xfe", 1))
	if m := c.receive(); m.Result == nil || m.Result["isError"] == true {
		t.Fatalf("the call is answered with %+v", m)
	}
	stored, err := fx.runs().Load(t.Context(), shown.str("run"))
	if err != nil || len(stored.Records) != 1 || !strings.Contains(stored.Records[0].Record, "\ufffd") || !utf8.ValidString(stored.Records[0].Record) {
		t.Errorf("the run is %+v, %v", stored, err)
	}
}

func FuzzTheIDOfAMessageIsFoundFromBothEnds(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"a"}`, `{"id":"a\"b","params":{"id":2}}`, `{"params":[{"id":3}],"id":-4.5e1}`, `[{"id":1}]`, `{"x":"\\","id" : 5 }`, `{"id":null}`, `{"id":true}`, `{"id":[1]}`,
	} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, message []byte) {
		first, last := tools.FindID(message)
		var fields map[string]json.RawMessage
		if json.Unmarshal(message, &fields) != nil || strings.Count(strings.ToLower(string(message)), "id") != 1 || strings.Contains(string(message), `\`) {
			return // it must not panic
		}
		want := string(fields["id"])
		if want == "" || !strings.ContainsAny(want[:1], `"-0123456789`) || len(want) > 256 {
			want = "null"
		}
		if first != want || last != want {
			t.Errorf("the id of %q is %s and %s, not %s", message, first, last, want)
		}
	})
}
