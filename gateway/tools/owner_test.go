package tools_test

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/musttest"
)

// connectChat connects an agent of a chat.
func (fx *fixture) connectChat(name string) *client {
	o := fx.options()
	o.Chat = &fakeChat{name: name}
	return fx.connect(o, nil)
}

// labels returns the labels of the runbooks that a client finds.
func (c *client) labels() (labels []string) {
	for _, b := range c.call("kairos_search", args{"query": ""}).ok().at("choices").([]any) {
		if b := b.(map[string]any); b["role"] == "match" {
			labels = append(labels, b["chain_label"].(string))
		}
	}
	slices.Sort(labels)
	return labels
}

// wantLabels checks what a client finds.
func (c *client) wantLabels(want ...string) {
	c.Helper()
	if got := c.labels(); !slices.Equal(got, want) {
		c.Errorf("it finds %q, not %q", got, want)
	}
}

func TestAStoredRunbookBelongsToTheChatThatStoredIt(t *testing.T) {
	fx := newFixture(t)
	ann, bob, local := fx.connectChat("net:1"), fx.connectChat("net:2"), fx.connect(fx.options(), nil)
	uri := ann.call("kairos_mint", args{"markdown_doc": fourSteps("Ship")}).ok().str("items.0.uri")
	for _, other := range []*client{bob, local} {
		other.wantLabels()
		other.call("kairos_begin", args{"uri": uri}).fails("NOT_FOUND", "")
		other.call("kairos_dump", args{"uri": uri, "protocol": true}).fails("NOT_FOUND", "")
		// The label is free in every chat, and taking it replaces nothing.
		other.call("kairos_mint", args{"markdown_doc": "# Ship\n\n" + step("Cheat", shellChallenge), "force_update": true}).ok()
	}
	ann.begin("Ship").want("current_step.content", "Do Test.")
	bob.begin("Ship").want("current_step.content", "Do Cheat.")
	ann.wantLabels("Ship")
}

func TestEachChatHasItsOwnQuotaOfStoredRunbooks(t *testing.T) {
	fx := newFixture(t)
	for i := range 1000 {
		musttest.Get(fx.runs().Mint(t.Context(), runbook.MintRequest{Chat: "net:1", Text: fmt.Sprintf("# %d", i)}))(t)
	}
	fx.connectChat("net:1").call("kairos_mint", args{"markdown_doc": "# One more"}).fails("STORE_FAILED", "1000 runbooks are stored already")
	fx.connectChat("net:2").call("kairos_mint", args{"markdown_doc": "# One more"}).ok()
	if _, err := fx.runs().Share(t.Context(), runbook.ShareRequest{Label: "7"}); err != nil { // which counts no longer
		t.Fatal(err)
	}
	fx.connectChat("net:1").call("kairos_mint", args{"markdown_doc": "# One more"}).ok()
}

func TestASharedRunbookIsSeenByAllChatsAndReplacedByNone(t *testing.T) {
	fx := newFixture(t)
	ann, bob := fx.connectChat("net:1"), fx.connectChat("net:2")
	ann.call("kairos_mint", args{"markdown_doc": fourSteps("Ship")}).ok()
	shared := musttest.Get(fx.runs().Share(t.Context(), runbook.ShareRequest{Label: "Ship"}))(t)
	for _, c := range []*client{ann, bob} {
		c.wantLabels("Ship")
		c.begin("Ship").want("current_step.content", "Do Test.")
		for _, force := range []bool{false, true} {
			c.call("kairos_mint", args{"markdown_doc": "# Ship\n\n## Cheat\n", "force_update": force}).
				fails("DUPLICATE_CHAIN", "all chats").want("items.0.uri", shared.Source().StepURI(1))
		}
	}
	musttest.Get(fx.runs().Unshare(t.Context(), "Ship"))(t)
	ann.wantLabels("Ship")
	bob.wantLabels()
	ann.call("kairos_mint", args{"markdown_doc": "# Ship\n\n## Other\n", "force_update": true}).ok()
}

// storeEarlier stores a runbook as the version did that recorded no chat.
func (fx *fixture) storeEarlier(label, text string) {
	sum := sha256.Sum256([]byte(label))
	fx.store.values["runbook/minted/"+hex.EncodeToString(sum[:])] = fmt.Sprintf(`{"version":1,"text":%q,"llm_model_id":"m","minted_at":"2026-03-01T09:30:00.123456789Z"}`, text)
}

func TestARunbookOfAVersionWithoutOwnersIsOneOfAllChats(t *testing.T) {
	fx := newFixture(t)
	fx.storeEarlier("Ship", fourSteps("Ship"))
	ann := fx.connectChat("net:1")
	ann.wantLabels("Ship")
	// Its URIs are the same as before.
	ann.call("kairos_begin", args{"uri": "kairos://mem/" + runbook.Source("minted/Ship").StepUUID(1)}).ok().want("current_step.content", "Do Test.")
	ann.call("kairos_mint", args{"markdown_doc": "# Ship\n", "force_update": true}).fails("DUPLICATE_CHAIN", "all chats")
}

// checkedChat connects an agent of a chat whose commands nanobot checks. permit answers the
// questions about commands; nil: nobody can be asked.
func (fx *fixture) checkedChat(k *fakeShell, permit func(label, command string) error) *client {
	o := fx.options()
	o.Chat, o.CheckShell = &fakeChat{name: "net:1"}, k.run
	if permit != nil {
		o.PermitCommand = func(_ context.Context, label, command string) error { return permit(label, command) }
	}
	return fx.connect(o, nil)
}

func TestTheCommandOfARunbookThatAnAgentWroteIsAskedAboutBeforeItIsChecked(t *testing.T) {
	fx := newFixture(t)
	k := &fakeShell{}
	var asked []string
	var answer error
	c := fx.checkedChat(k, func(label, command string) error {
		asked = append(asked, label+": "+command)
		return answer
	})
	c.call("kairos_mint", args{"markdown_doc": fourSteps("Ship")}).ok()
	shown := c.begin("Ship")
	answer = tools.ErrDeclined
	c.next(shown, "shell", shell(0)).refused("USER_DECLINED").want("retry_count", 1)
	answer = &tools.NotAskedError{Err: errTest}
	c.next(shown, "shell", shell(0)).refused("ELICITATION_FAILED").want("message", "Disk on fire.")
	answer = &tools.RateLimitError{Reason: "too fast"}
	c.next(shown, "shell", shell(0)).fails("RATE_LIMITED", "Too fast.")
	if len(k.commands) != 0 {
		t.Fatalf("commands were executed: %q", k.commands)
	}
	answer = nil
	c.next(shown, "shell", shell(0)).ok().want("challenge.type", "mcp")
	if len(k.commands) != 1 || len(asked) != 4 || asked[3] != "Ship: make test" {
		t.Errorf("asked %q, executed %q", asked, k.commands)
	}
}

func TestWhereNobodyCanBeAskedTheProofOfAnAgentsRunbookIsNotAccepted(t *testing.T) {
	fx := newFixture(t)
	fx.storeEarlier("Old", fourSteps("Old"))
	k := &fakeShell{}
	c := fx.checkedChat(k, nil)
	c.call("kairos_mint", args{"markdown_doc": fourSteps("Ship")}).ok()
	for _, label := range []string{"Ship", "Old"} { // nobody has shared the old one
		got := c.next(c.begin(label), "shell", shell(0)).refused("ELICITATION_FAILED")
		if !strings.Contains(got.str("message"), "nobody can be asked") {
			t.Error(got.text)
		}
	}
	if len(k.commands) != 0 {
		t.Fatalf("commands were executed: %q", k.commands)
	}
}

func TestCommandsOfPeoplesRunbooksAreNotAskedAbout(t *testing.T) {
	fx := newFixture(t)
	fx.write("mine", fourSteps("Mine"))
	fx.storeEarlier("Old", fourSteps("Old"))
	k := &fakeShell{}
	c := fx.checkedChat(k, nil)
	c.call("kairos_mint", args{"markdown_doc": fourSteps("Ship")}).ok()
	before := c.begin("Ship")
	for _, label := range []string{"Ship", "Old"} {
		musttest.Get(fx.runs().Share(t.Context(), runbook.ShareRequest{Label: label}))(t)
	}
	for _, label := range []string{"Mine", "Ship", "Old"} {
		c.next(c.begin(label), "shell", shell(0)).ok().want("challenge.type", "mcp")
	}
	c.next(before, "shell", shell(0)).ok().want("challenge.type", "mcp") // exactly this text was shared
	musttest.Get(fx.runs().Unshare(t.Context(), "Ship"))(t)
	c.next(c.begin("Ship"), "shell", shell(0)).refused("ELICITATION_FAILED")
}

// TestSharingIsBoundToTheText shares a text, and proves a run of another text with the same label.
func TestSharingIsBoundToTheText(t *testing.T) {
	fx := newFixture(t)
	k := &fakeShell{}
	c := fx.checkedChat(k, nil)
	c.call("kairos_mint", args{"markdown_doc": strings.ReplaceAll(fourSteps("Ship"), "make test", "make evil")}).ok()
	evil := c.begin("Ship")
	c.call("kairos_mint", args{"markdown_doc": fourSteps("Ship"), "force_update": true}).ok()
	if _, err := fx.runs().Share(t.Context(), runbook.ShareRequest{Label: "Ship", Hash: "0123"}); err == nil {
		t.Error("a text with another hash was shared")
	}
	musttest.Get(fx.runs().Share(t.Context(), runbook.ShareRequest{Label: "Ship"}))(t)
	c.next(evil, "shell", shell(0)).refused("ELICITATION_FAILED")
	if len(k.commands) != 0 {
		t.Errorf("commands were executed: %q", k.commands)
	}
	shared, err := fx.runs().ListMinted(t.Context(), "net:2")
	if err != nil || len(shared) != 1 || shared[0].SharedAt.After(time.Now()) || shared[0].Chat != "net:1" {
		t.Errorf("shared: %+v, %v", shared, err)
	}
}
