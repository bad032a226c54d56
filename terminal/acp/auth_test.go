package acp_test

import (
	"os"
	"os/user"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// newAgentWithSignIn returns an agent that offers a sign-in method. It responds to the first prompt
// with a chunk of text, unless words is "", and then with this error.
func newAgentWithSignIn(t *testing.T, words, failure string) *fixture {
	t.Helper()
	if words != "" {
		words = "chunk '" + words + "'"
	}
	d := newShellAgent(t, strings.Replace(untilPrompt, `{"protocolVersion":1}`, `{"protocolVersion":1,"authMethods":[{"id":"key","name":"Key"}]}`, 1)+words+`
send '{"jsonrpc":"2.0","id":3,"error":`+failure+`}'
receive; send '{"jsonrpc":"2.0","id":4,"result":{}}'
receive; chunk again; send '{"jsonrpc":"2.0","id":5,"result":{"stopReason":"end_turn"}}'; receive`)
	settings(&d.cfg).AuthMethod = "key"
	d.restart()
	return d
}

func TestAPromptThatHasBegunIsNotRepeated(t *testing.T) {
	t.Parallel()
	d := newAgentWithSignIn(t, "Deployed.", `{"code":-32000,"message":"Rate limit exceeded"}`)
	d.person("a").send("deploy").expect(terminal.Failed, "Deployed.").expectError(terminal.Failed, "Error: Rate limit exceeded")
	wanttest.Equal(t, "it was asked … times:", strings.Count(d.receivedLines(), "session/prompt"), 1)
	d = newAgentWithSignIn(t, "Deployed.", `{"code":-32000,"message":"no","data":{"details":"Authentication expired"}}`)
	d.person("a").send("deploy").expect(terminal.Failed, "Deployed.").expectError(terminal.Failed, "Error (AUTH)")
	wanttest.Equal(t, "it was asked … times:", strings.Count(d.receivedLines(), "session/prompt"), 1)
}

func TestAPromptThatHasNotBegunIsRepeatedWhenSignedIn(t *testing.T) {
	t.Parallel()
	for _, failure := range []string{`{"code":-32000,"message":"who are you?"}`, `{"code":-32000,"message":"no","data":"unauthenticated"}`} {
		d := newAgentWithSignIn(t, "", failure)
		d.person("a").send("deploy").expect(terminal.Done, "again")
	}
}

func TestTheErrorCodeAloneDoesNotCauseASignIn(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+`send '{"jsonrpc":"2.0","id":3,"error":{"code":-32000,"message":"Rate limit exceeded"}}'`)
	d.person("a").send("hello").expectError(terminal.Failed, "Error: Rate limit exceeded")
}

func TestAResponseWithoutAResultIsAccepted(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, strings.Replace(untilPrompt, `"result":{"sessionId":"s"}`,
		`"result":{"sessionId":"s","modes":{"currentModeId":"a","availableModes":[{"id":"a","name":"A"},{"id":"b","name":"B"}]}}`, 1)+
		"send '{\"id\":3,\"level\":\"info\"}'\nsend '{\"jsonrpc\":\"2.0\",\"id\":3}'\nreceive\n")
	d.person("a").send("/mode b").expect(terminal.Done, "Mode: B")
}

func TestALogLineWithAnIDIsNoResponse(t *testing.T) {
	t.Parallel()
	d := newShellAgent(t, untilPrompt+"send '{\"id\":3,\"level\":\"info\"}'\nchunk real"+endTurn)
	d.person("a").send("hello").expect(terminal.Done, "real")
}

// typedMethods are a command, a command in an earlier form, variables, and a method of the agent.
const typedMethods = `[{"id":"tui","type":"terminal","name":"Log in","description":"With your account.","args":["-login","a b"],"env":{"REGION":"eu"}},` +
	`{"id":"old","name":"Old","_meta":{"terminal-auth":{"command":"agent","args":["/login"],"label":"x"}}},` +
	`{"id":"key","type":"env_var","name":"API key","vars":[{"name":"AGENT_KEY"},{"name":"AGENT_ORG"}]},` +
	`{"id":"web","name":"Browser"}]`

func TestSignInMethodsSayWhatToDo(t *testing.T) {
	t.Parallel()
	me := musttest.Get(user.Current())(t)
	d := newFixture(t, "-auth web -auth-methods '"+typedMethods+"'")
	_, shown, _ := strings.Cut(strings.ReplaceAll(d.cfg.Command, "`", "'"), "ACPTEST_AGENT=1 ")
	text := d.person("a").send("hello").expectError(terminal.Failed,
		"Error (AUTH): The agent requires signing in: Authentication required",
		"• Log in: With your account.\n  On the bot's machine, run `"+shown+" -login 'a b'` as the user "+me.Username+", or `nanobot login`.",
		"• Old\n  On the bot's machine, run `agent /login` as the user ",
		"• API key\n  Set the variables `AGENT_KEY`, `AGENT_ORG` in terminal.env.",
		"• Browser (terminal.acp.authMethod \"web\")").text(terminal.Error)
	if n := strings.Count(text, "authMethod"); n != 1 {
		t.Errorf("%d methods name authMethod: %s", n, text)
	}
}

func TestOnlyAMethodOfTheAgentItselfIsPassedToIt(t *testing.T) {
	t.Parallel()
	for _, method := range []string{"tui", "key", "old"} {
		d := newFixture(t, "-auth "+method+" -auth-methods '"+typedMethods+"'", func(c *config.Terminal) { settings(c).AuthMethod = method })
		d.person("a").send("hello").expectError(terminal.Failed, "Error (AUTH)") // the agent fails if it is asked
	}
	d := newFixture(t, "-auth web -auth-methods '"+typedMethods+"'", func(c *config.Terminal) { settings(c).AuthMethod = "web" })
	d.person("a").send("hello").expect(terminal.Done, "You said: hello")
}

func TestTheCommandToSignInShowsNoSecrets(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name   string
		reveal bool
		want   string
	}{
		{"internals are shown", true, "exec sh agent --key [secret] -login 'a b'` as"},
		{"internals are hidden", false, "run `sh … -login 'a b'` as"},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := newFixture(t, "", func(cfg *config.Terminal) {
				cfg.Env = map[string]string{"KEY": "sk-known"}
				cfg.RevealErrors.All = c.reveal
				cfg.Command = "SECRET=sk-assigned exec sh agent --key sk-known"
			})
			script := strings.Replace(untilPrompt, `{"protocolVersion":1}`, `{"protocolVersion":1,"authMethods":`+typedMethods+`}`, 1)
			script = strings.Replace(script, `"result":{"sessionId":"s"}`, `"error":{"code":-32000,"message":"Authentication required"}`, 1)
			musttest.Do(t, os.WriteFile(d.path("agent"), []byte(script), 0o600))
			text := d.person("a").send("hello").expectError(terminal.Failed, c.want).text(terminal.Error)
			if strings.Contains(text, "sk-") || strings.Contains(text, "REGION") {
				t.Errorf("said %s", text)
			}
		})
	}
}
