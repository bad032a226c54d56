package access

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"nanobot/internal/wanttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/view"
	"nanobot/terminal/protocoltest"
)

const usualOptions = `{"optionId":"y","name":"Yes","kind":"allow_once"},{"optionId":"Y","name":"Always","kind":"allow_always"},{"optionId":"n","name":"No","kind":"reject_once"}`

// requestPermission returns the response to the agent, such as y for the option of this ID, and the
// line in the audit log.
func requestPermission(ctx context.Context, t *testing.T, policy Policy, v *view.View, call, options string) string {
	t.Helper()
	if policy.AskTimeout == 0 {
		policy.AskTimeout = 300 * time.Second
	}
	params := fmt.Sprintf(`{"sessionId":"s","toolCall":{"toolCallId":"t",%s},"options":[%s]}`, call, options)
	got, rerr := decider{policy, v}.decideRequest(ctx, json.RawMessage(params), func(*view.ToolCall, *option) {})
	if rerr != nil {
		t.Fatal(rerr)
	}
	raw := acptest.CheckSchema(t, "RequestPermissionResponse", got)
	var a struct{ Outcome map[string]string }
	if err := json.Unmarshal([]byte(raw), &a); err != nil {
		t.Fatal(err)
	}
	switch a.Outcome["outcome"] {
	case "selected":
		return a.Outcome["optionId"]
	case "cancelled":
		if _, has := a.Outcome["optionId"]; has {
			t.Errorf("cancelled with an option: %s", raw)
		}
		return "cancelled"
	}
	t.Fatalf("answered %s", raw)
	return ""
}

func TestPermissionsFollowTheRules(t *testing.T) {
	t.Parallel()
	always := strings.ReplaceAll(usualOptions, "_once", "_always")
	onlyYes := `{"optionId":"y","name":"Yes","kind":"allow_once"}`
	onlyNo := `{"optionId":"n","name":"No","kind":"reject_once"}`
	answers := func(text string) protocoltest.Ask {
		return func(context.Context, terminal.Question) (terminal.Answer, error) {
			return terminal.Answer{Text: text, By: "ann"}, nil
		}
	}
	nobody := func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	}
	writes := func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{}, &terminal.DismissedError{By: "ann"}
	}
	broken := func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{}, errors.New("the store is full")
	}
	rules := map[string]string{"execute": "deny", "edit": "allow", "read": "ask"}
	for name, c := range map[string]struct {
		policy  string
		rules   map[string]string
		kind    string
		options string
		ask     protocoltest.Ask // nil: must not be called
		want    string
		by      string
	}{
		"allow":                         {"allow", nil, "execute", usualOptions, nil, "y", `allow_once "Yes" by rule`},
		"allow always only":             {"allow", nil, "execute", always, nil, "y", `allow_always "Yes" by rule`},
		"allow without a yes":           {"allow", nil, "execute", onlyNo, answers("Reject"), "n", `reject_once "No" by user ann`},
		"deny":                          {"deny", nil, "read", usualOptions, nil, "n", `reject_once "No" by rule`},
		"deny without a no":             {"deny", nil, "read", onlyYes, nil, "cancelled", "cancelled by rule"},
		"deny for ever only":            {"deny", nil, "read", always, nil, "n", `reject_always "No" by rule`},
		"reads allowed":                 {"allow-reads", nil, "read", usualOptions, nil, "y", `allow_once "Yes" by rule`},
		"searches allowed":              {"allow-reads", nil, "search", usualOptions, nil, "y", `allow_once "Yes" by rule`},
		"edits asked":                   {"allow-reads", nil, "edit", usualOptions, answers("Allow once"), "y", `allow_once "Yes" by user ann`},
		"fetches asked":                 {"allow-reads", nil, "fetch", usualOptions, answers("Reject"), "n", `reject_once "No" by user ann`},
		"odd kinds asked":               {"allow-reads", nil, "read ", usualOptions, answers("Reject"), "n", `reject_once "No" by user ann`},
		"rule denies":                   {"allow", rules, "execute", usualOptions, nil, "n", `reject_once "No" by rule`},
		"rule allows":                   {"deny", rules, "edit", usualOptions, nil, "y", `allow_once "Yes" by rule`},
		"rule asks":                     {"allow-reads", rules, "read", usualOptions, answers("Always"), "Y", `allow_always "Always" by user ann`},
		"rule of another":               {"deny", rules, "fetch", usualOptions, nil, "n", `reject_once "No" by rule`},
		"ask":                           {"ask", nil, "read", usualOptions, answers("allow once"), "y", `allow_once "Yes" by user ann`},
		"an answer of no option":        {"ask", nil, "read", usualOptions, answers("perhaps"), "n", `reject_once "No" by an answer that is not an option, "perhaps"`},
		"nobody":                        {"ask", nil, "read", usualOptions, nobody, "n", `reject_once "No" by rule: there is nobody to ask`},
		"nobody and no no":              {"ask", nil, "read", onlyYes, nobody, "cancelled", "cancelled by rule: there is nobody to ask"},
		"nobody can be asked":           {"ask", nil, "read", usualOptions, broken, "n", `reject_once "No" by rule: the question was not asked: the store is full`},
		"something else":                {"ask", nil, "edit", usualOptions, writes, "n", `reject_once "No" by user ann, who wrote something else`},
		"something else, for ever only": {"ask", nil, "edit", always, writes, "cancelled", "cancelled by user ann, who wrote something else"},
		"something else, and no no":     {"ask", nil, "edit", onlyYes, writes, "cancelled", "cancelled by user ann, who wrote something else"},
		"no options":                    {"allow", nil, "read", "", nil, "cancelled", "cancelled by rule: the agent offers no options"},
		"no policy":                     {"", nil, "read", usualOptions, answers("Allow once"), "y", `allow_once "Yes" by user ann`},
	} {
		t.Run(name, func(t *testing.T) {
			turn, r := acptest.NewTurn(t)
			r.OnAsk = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
				if c.ask == nil {
					t.Error("the person was asked")
					return terminal.Answer{}, terminal.ErrNobodyToAsk
				}
				if !q.Approval || q.OtherText != terminal.OtherTextDismisses {
					t.Errorf("asked %+v", q)
				}
				return c.ask(ctx, q)
			}
			v := view.New(turn, nil)
			policy := Policy{Permissions: c.policy, Rules: c.rules}
			wanttest.Equal(t, "answered", requestPermission(context.Background(), t, policy, v, fmt.Sprintf(`"title":"Do it","kind":%q`, c.kind), c.options), c.want)
			silent := !strings.Contains(c.by, "nobody") && !strings.Contains(c.by, "was not asked")
			if text := r.Last(terminal.Message); (text == "") != silent || text != "" && !strings.HasSuffix(text, "refused: Do it") {
				t.Errorf("said %q", text)
			}
			kind := strings.Replace(c.kind, "read ", "other", 1)
			if got, want := r.Last(terminal.Log), fmt.Sprintf("permission: %s: %s: \"Do it\"", kind, c.by); got != want {
				t.Errorf("logged %s\nnot    %s", got, want)
			}
			closeView(t, v)
		})
	}
}

func TestAPermissionWithoutKindHasThatOfItsToolCall(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	r.OnAsk = func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	}
	v := view.New(turn, nil)
	policy := Policy{Permissions: "allow", Rules: map[string]string{"execute": "deny", "other": "ask"}}
	wanttest.Equal(t, "an unknown kind:", requestPermission(context.Background(), t, policy, v, `"title":"unknown"`, usualOptions), "n")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","kind":"read"}`)
	wanttest.Equal(t, "a known one:", requestPermission(context.Background(), t, policy, v, `"kind":null`, usualOptions), "y")
	wanttest.Equal(t, "one that is said:", requestPermission(context.Background(), t, policy, v, `"kind":"execute"`, usualOptions), "n")
	if v.Tool("t").Kind != "read" {
		t.Error("the tool call was changed by a question")
	}
	closeView(t, v)
}

func TestAMissingPersonToAskIsReportedOnce(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	r.OnAsk = func(context.Context, terminal.Question) (terminal.Answer, error) {
		return terminal.Answer{}, terminal.ErrNobodyToAsk
	}
	v := view.New(turn, nil)
	for range 3 {
		requestPermission(context.Background(), t, Policy{Permissions: "ask"}, v, `"title":"Do it"`, usualOptions)
	}
	closeView(t, v)
	if got := r.Texts(terminal.Message); len(got) != 1 || got[0] != "🔐 There is nobody here to ask, so this was refused: Do it" {
		t.Errorf("said %q", got)
	}
}

func TestAQuestionNeverShowsAnotherCommand(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	var text string
	r.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		text = q.Text
		return terminal.Answer{Text: "Reject"}, nil
	}
	v := view.New(turn, nil)
	long, half := strings.Repeat("x", 200<<10), strings.Repeat("x", maxQuestionDetail/2)
	for input, want := range map[string]string{
		`{"command":"rm -rf / #` + long + `"}`: "🔐 💻 Bash\n```\nrm -rf / #" + half[:len(half)-10] + "…\n(203310 more bytes)\n…" + half + "\n```",
		`{"script":"` + long + `"}`:            "🔐 💻 Bash\n```json\n{\"script\":\"" + half[:len(half)-11] + "…\n(203313 more bytes)\n…" + half[:len(half)-2] + "\"}\n```",
		`{"script":"short"}`:                   "🔐 💻 Bash\n```json\n{\"script\":\"short\"}\n```",
	} {
		sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Bash","kind":"execute","rawInput":{"command":"ls"}}`)
		requestPermission(context.Background(), t, Policy{Permissions: "ask"}, v, `"rawInput":`+input, usualOptions)
		if text != want {
			t.Errorf("asked %d bytes %.60q … %q, want %q", len(text), text, text[max(0, len(text)-60):], want[max(0, len(want)-60):])
		}
		sendUpdate(v, `{"sessionUpdate":"tool_call_update","toolCallId":"t","rawInput":%s}`, input)
		requestPermission(context.Background(), t, Policy{Permissions: "ask"}, v, `"title":"Bash"`, usualOptions)
		if text != want {
			t.Errorf("asked of what was known: %.60q … %q", text, text[max(0, len(text)-60):])
		}
	}
	closeView(t, v)
}

func TestAPermissionIsCancelledWithItsTurnAndRejectedInTime(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		turn, r := acptest.NewTurn(t)
		counts := true // the asker does what Timeout says
		r.OnAsk = func(ctx context.Context, q terminal.Question) (terminal.Answer, error) {
			wanttest.Equal(t, "within", q.Timeout, 7*time.Second)
			if counts {
				limited, cancel := context.WithTimeout(ctx, q.Timeout)
				defer cancel()
				ctx = limited
			}
			<-ctx.Done()
			return terminal.Answer{}, context.Cause(ctx)
		}
		v := view.New(turn, nil)
		policy := Policy{Permissions: "ask", AskTimeout: 7 * time.Second}
		for _, took := range []time.Duration{7 * time.Second, 7*time.Second + askGrace} {
			start := time.Now()
			if got := requestPermission(context.Background(), t, policy, v, `"kind":"edit"`, usualOptions); got != "n" || time.Since(start) != took {
				t.Errorf("%s after %v", got, time.Since(start))
			}
			wanttest.Equal(t, "said", r.Last(terminal.Message), "🔐 Nobody answered within 7 s, so this was refused: edit")
			if got := r.Last(terminal.Log); !strings.Contains(got, `reject_once "No" by timeout`) {
				t.Errorf("logged %s", got)
			}
			counts = false
		}
		ctx, cancel := context.WithCancel(context.Background())
		time.AfterFunc(time.Second, cancel)
		wanttest.Equal(t, "with the turn:", requestPermission(ctx, t, policy, v, `"kind":"edit"`, usualOptions), "cancelled")
		wanttest.Equal(t, "behind it:", requestPermission(ctx, t, Policy{Permissions: "allow"}, v, `"kind":"edit"`, usualOptions), "cancelled")
		closeView(t, v)
	})
}

func TestAQuestionFollowsEarlierTextAndShowsTheToolCall(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	var questions []terminal.Question
	r.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		if got := r.Last(terminal.Progress); !strings.HasPrefix(got, "💬 I shall.\n💻 Terminal …") || strings.Contains(got, "Working") {
			t.Errorf("the question follows %q", got)
		}
		questions = append(questions, q)
		return terminal.Answer{Text: "Always"}, nil
	}
	v := view.New(turn, nil)
	sendChunk(v, "I shall.")
	sendUpdate(v, `{"sessionUpdate":"tool_call","toolCallId":"t","title":"Terminal","kind":"execute","rawInput":{"command":"ls *","description":"x"}}`)
	options := `{"optionId":"1","name":"Allow","kind":"allow_once"},{"optionId":"2","name":" allow\n","kind":"allow_always"},{"optionId":"3","name":"","kind":"reject_once"},{"optionId":"4","name":"Allow (2)","kind":"reject_always"}`
	var texts []string
	for _, call := range []string{
		`"title":"Run"`,
		"\"title\":\"`ls *`\"",
		`"title":"Run","rawInput":{"command":["bash","-lc","rm -rf a b"]}`,
		`"title":"Edit a.go","rawInput":{"file_path":"` + turn.ExecEnv().Dir + `/src/a.go"},"content":[{"type":"diff","path":"` + turn.ExecEnv().Dir + `/src/a.go","oldText":"x\n","newText":"y\n"}]`,
		`"title":"Fetch","rawInput":{"url":"https://e.org/?q=1"},"content":[{"type":"content","content":{"type":"text","text":"Why: **because**"}}]`,
		`"title":"Read","rawInput":"odd","locations":[{"path":"/etc/hosts"}]`,
		`"title":"Long","rawInput":{"command":"` + strings.Repeat("x", 5000) + `"}`,
	} {
		wanttest.Equal(t, "answered", requestPermission(context.Background(), t, Policy{Permissions: "ask"}, v, call, options), "2")
		texts = append(texts, questions[len(questions)-1].Text)
	}
	want := []string{
		"🔐 💻 Run\n```\nls *\n```",
		"🔐 💻 `ls *`",
		"🔐 💻 Run\n```\nbash -lc 'rm -rf a b'\n```",
		"🔐 💻 Edit a.go\n`src/a.go` · +1 −1\n```diff\n@@ -1 +1 @@\n-x\n+y\n```",
		"🔐 💻 Fetch\n`https://e.org/?q=1`\nWhy: **because**",
		"🔐 💻 Read\n`/etc/hosts`",
		"🔐 💻 Long\n```\n" + strings.Repeat("x", maxQuestionDetail/2) + "…\n(3500 more bytes)\n…" + strings.Repeat("x", maxQuestionDetail/2) + "\n```",
	}
	for i := range want {
		if texts[i] != want[i] {
			t.Errorf("got  %q\nwant %q", texts[i], want[i])
		}
	}
	wanttest.Equal(t, "options", fmt.Sprintf("%q", questions[0].Options), `["Allow once" "Always" "Reject" "Never: Allow (2)"]`)
	if questions[0].ID == questions[1].ID || questions[0].ID == "" {
		t.Error("two questions have one id")
	}
	closeView(t, v)
}
