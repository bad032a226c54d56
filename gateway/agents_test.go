package gateway_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"sync"
	"testing"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/audit"
	"nanobot/gateway/gatewaytest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// addAgent adds an agent that runs a script.
func (fx *fixture) addAgent(name, script string) {
	section := fx.terminal
	section.Command = script
	if fx.otherAgents == nil {
		fx.otherAgents = map[string]config.Terminal{}
	}
	fx.otherAgents[name] = section
}

// namedEcho is an agent that prints its name and the text of its envelope.
func namedEcho(name string) string {
	return strings.ReplaceAll(echo, "you said", name+" heard")
}

// writeAndAwait writes a message and returns the next message of the chat.
func (fx *fixture) writeAndAwait(chat, text string) string {
	fx.t.Helper()
	before := len(texts(fx.net.Sent(chat)))
	fx.net.UserWrites(chat, "u", text)
	calls, ok := fx.net.Await(chat, testTimeout, func(c []gatewaytest.Call) bool { return len(texts(c)) > before })
	if !ok {
		fx.t.Fatalf("nothing was said to %q", text)
	}
	fx.awaitIdle(chat)
	return texts(calls)[before]
}

func TestTwoAgentsAnswerInOneChatAndInTwoAtTheSameTime(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `touch default-up; `+waitForFileScript("coder-up")+namedEcho("default"))
	fx.addAgent("coder", `touch coder-up; `+waitForFileScript("default-up")+namedEcho("coder"))
	fx.start()
	fx.writeAndAwait("2", "/agent coder")
	fx.net.UserWrites("1", "u", "one")
	fx.net.UserWrites("2", "u", "two") // each agent waits for the other to run
	fx.expect("1", "default heard one")
	fx.awaitText("2", "coder heard two")
	fx.awaitIdle("1")
	for _, c := range [][2]string{
		{"/agent coder", "Your next message goes to coder."},
		{"three", "coder heard three"},
		{"/agent", "You are talking to coder. To change, send /agent NAME: default."},
		{"/agent default", "Your next message goes to default."},
		{"four", "default heard four"},
	} {
		if got := fx.writeAndAwait("1", c[0]); got != c[1] {
			t.Errorf("to %q: %q, want %q", c[0], got, c[1])
		}
	}
}

// menuReader is a channel that reads the menus of chats.
type menuReader struct {
	*gatewaytest.Channel
	read *channels.MenuSource
}

func (m menuReader) SetMenuSource(read channels.MenuSource) { *m.read = read }

func TestAChosenAgentAnswersAfterARestartAndRunsARetry(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, namedEcho("default"))
	fx.addAgent("coder", namedEcho("coder"))
	var read channels.MenuSource
	fx.wrapChannel = func(c *gatewaytest.Channel) channels.Channel { return menuReader{c, &read} }
	choices := func() string {
		c := musttest.Get(read(t.Context(), channels.Chat{Channel: "net", ID: "1"}, channels.User{ID: "u"}))(t)
		return fmt.Sprint(c.Agent, " of ", c.Agents)
	}
	fx.start()
	wanttest.Equal(t, "at first:", choices(), "default of [coder default]")
	fx.writeAndAwait("1", "/agent coder")
	wanttest.Equal(t, "then:", choices(), "coder of [coder default]")
	fx.writeAndAwait("1", "one")
	fx.writeAndAwait("1", "/agent default")
	wanttest.Equal(t, "the retry said", fx.writeAndAwait("1", "/retry"), "coder heard one")
	fx.writeAndAwait("1", "/agent coder")
	fx.stop()
	fx.start()
	wanttest.Equal(t, "after the restart:", fx.writeAndAwait("1", "two"), "coder heard two")
	fx.stop()
	fx.otherAgents = nil
	fx.start()
	wanttest.Equal(t, "without the agent:", fx.writeAndAwait("1", "three"), "The agent coder is no longer available, so default answers from now on.")
	fx.awaitText("1", "default heard three")
	wanttest.Equal(t, "the next time:", fx.writeAndAwait("1", "four"), "default heard four")
}

// What waits for an agent that a reload removes is worked on by the default one, and the store says
// so.
func TestAReloadAddsAndRemovesAgents(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, namedEcho("default"))
	fx.start()
	reload := func() {
		s := fx.settings
		s.Agents = fx.agents(zap.NewNop())
		fx.gw.Reload(s)
	}
	wanttest.Equal(t, "with one agent:", fx.writeAndAwait("1", "/agent coder"), "default heard /agent coder")
	fx.addAgent("coder", `touch up; `+waitForFileScript("go")+namedEcho("coder"))
	reload()
	fx.writeAndAwait("1", "/agent coder")
	fx.net.UserWrites("1", "u", "runs")
	fx.awaitFile("up")
	fx.net.UserWrites("1", "u", "waits")
	fx.awaitText("1", "Queued.")
	fx.otherAgents = nil
	reload()
	fx.touchFile("go")
	fx.awaitText("1", "coder heard runs")
	fx.awaitText("1", "The agent coder is no longer available, so default answers from now on.")
	fx.awaitText("1", "default heard waits")
	fx.awaitIdle("1")
	inbounds, err := fx.store.Recent(t.Context(), channels.Chat{Channel: "net", ID: "1"}, 2)
	if err != nil || inbounds[0].Agent != "default" || inbounds[1].Agent != "coder" {
		t.Errorf("recorded are %+v, %v", inbounds, err)
	}
}

// Each agent has the settings, the environment and the providers of its own section and of no
// other.
func TestAgentsShareNoSettings(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, `read -r line; printf '%s' "$OWN|$(ulimit -n)|$ALPHA_API_KEY|$BETA_API_KEY|$ONLY_DEFAULT" > "seen-$OWN"; printf '%s' "$line" > "line-$OWN"; echo ok`)
	fx.terminal.Env = map[string]string{"OWN": "default", "ONLY_DEFAULT": "1"}
	fx.terminal.Providers = map[string]config.Provider{"alpha": {APIKeys: []config.Secret{"key-of-alpha"}}}
	fx.terminal.ProviderEnv = true
	fx.terminal.Limits.Files = 111
	coder := fx.terminal
	coder.Env = map[string]string{"OWN": "coder"}
	coder.Providers = map[string]config.Provider{"beta": {APIKeys: []config.Secret{"key-of-beta"}}}
	coder.Limits.Files = 222
	fx.otherAgents = map[string]config.Terminal{"coder": coder}
	fx.start()
	fx.writeAndAwait("1", "hello")
	fx.writeAndAwait("1", "/agent coder")
	fx.writeAndAwait("1", "hello")
	for name, want := range map[string]string{"default": "default|111|key-of-alpha||1", "coder": "coder|222||key-of-beta|"} {
		wanttest.Equal(t, name+": has", fx.readWorkspace("seen-"+name), want)
		var envelope terminal.Envelope
		musttest.Do(t, json.Unmarshal([]byte(fx.readWorkspace("line-"+name)), &envelope))
		if len(envelope.Providers) != 1 || (len(envelope.Providers["beta"].APIKeys) == 1) != (name == "coder") {
			t.Errorf("%s is handed %+v", name, envelope.Providers)
		}
	}
}

func TestTheTimeoutOfATurnIsThatOfItsAgent(t *testing.T) {
	t.Parallel()
	fx := newFixture(t, namedEcho("default"))
	fx.addAgent("slow", "echo begun; sleep 300")
	slow := fx.otherAgents["slow"]
	slow.Timeout = 1
	fx.otherAgents["slow"] = slow
	fx.start()
	fx.writeAndAwait("1", "/agent slow")
	fx.net.UserWrites("1", "u", "hello")
	fx.awaitText("1", "Timed out after 1 s.")
}

func TestRecordsAndLogsNameTheAgent(t *testing.T) {
	t.Parallel()
	var mu sync.Mutex
	var got []string
	fx := newFixture(t, namedEcho("default"))
	fx.addAgent("coder", namedEcho("coder"))
	fx.audit = func(a audit.Record) {
		mu.Lock()
		defer mu.Unlock()
		got = append(got, strings.TrimSpace(fmt.Sprint(a.Event, " ", a.Agent, a.Command)))
	}
	fx.start()
	fx.writeAndAwait("1", "one")
	fx.writeAndAwait("1", "/agent coder")
	fx.writeAndAwait("1", "two")
	fx.stop()
	if want := "turn.start default,turn.end default,command /agent,turn.start coder,turn.end coder"; strings.Join(got, ",") != want {
		t.Errorf("recorded %q, want %q", got, want)
	}
	var named []string
	for _, entry := range fx.logs.FilterMessage("turn ended").All() {
		named = append(named, fmt.Sprint(entry.ContextMap()["agent"]))
	}
	if fmt.Sprint(named) != "[<nil> coder]" {
		t.Errorf("the log names %v", named)
	}
}
