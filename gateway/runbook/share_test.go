package runbook_test

import (
	"errors"
	"maps"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
)

// TestOperatorsShareOneRunbookAtATime uses the titles that several chats have.
func TestOperatorsShareOneRunbookAtATime(t *testing.T) {
	runs, _ := newRuns()
	ctx := t.Context()
	for _, chat := range []string{"net:1", "net:2", ""} {
		must1(runs.Mint(ctx, runbook.MintRequest{Chat: chat, Text: "# A\nof " + chat}))
	}
	if _, err := runs.Share(ctx, runbook.ShareRequest{Label: "A"}); err == nil || !strings.Contains(err.Error(), `"", "net:1", "net:2"`) {
		t.Errorf("which chat: %v", err)
	}
	if _, err := runs.Share(ctx, runbook.ShareRequest{Label: "B"}); err == nil {
		t.Error("a runbook that nobody has is shared")
	}
	chat := "net:2"
	if m, err := runs.Share(ctx, runbook.ShareRequest{Label: "A", Chat: &chat}); err != nil || m.Text != "# A\nof net:2" {
		t.Errorf("%v, %+v", err, m)
	}
	if _, err := runs.Share(ctx, runbook.ShareRequest{Label: "A"}); !errors.Is(err, runbook.ErrShared) {
		t.Errorf("a second one is shared: %v", err)
	}
	if list := must1(runs.ListMinted(ctx, "net:2")); len(list) != 1 || !list[0].Shared {
		t.Errorf("the chat has %+v", list)
	}
	must1(runs.Unshare(ctx, "A"))
	if _, err := runs.Unshare(ctx, "A"); err == nil {
		t.Error("what nobody has shared is no longer shared")
	}
	if list := must1(runs.ListAllMinted(ctx)); len(list) != 3 {
		t.Errorf("there are %+v", list)
	}
}

func TestARunbookIsNotUnsharedIntoAChatThatHasAnotherOne(t *testing.T) {
	runs, records := newRuns()
	ctx := t.Context()
	must1(runs.Mint(ctx, runbook.MintRequest{Chat: "net:1", Text: "# A\nfirst"}))
	first := maps.Clone(records.values)
	must1(runs.Mint(ctx, runbook.MintRequest{Chat: "net:1", Text: "# A\nsecond", Force: true}))
	second := maps.Clone(records.values)
	maps.Copy(records.values, first)
	must1(runs.Share(ctx, runbook.ShareRequest{Label: "A"}))
	maps.Copy(records.values, second) // as if the chat had stored it while the first was shared
	if _, err := runs.Unshare(ctx, "A"); err == nil || !strings.Contains(err.Error(), "another runbook") {
		t.Errorf("the first is lost: %v", err)
	}
	if list := must1(runs.ListAllMinted(ctx)); len(list) != 2 {
		t.Errorf("there are %+v", list)
	}
}

// The record of a minted runbook and the export of a run, as the version before wrote them.
const (
	earlierKey    = "runbook/minted/55d13d488739d6732a4afee58ade2e33fec10df0d352a5153efce30752685128"
	earlierMinted = `{"version":1,"text":"# Old & Gold\n\n## A\nPROOF OF WORK: true\n","llm_model_id":"m<1>","minted_at":"2026-11-17T14:34:19.821037218Z"}`
	earlierExport = `{"version":1,"run":"e0d4994c2d98","runbook":{"label":"Count","text":"# Count\n## One\nPROOF OF WORK: echo 1\n"},` +
		`"status":"complete","records":[{"record":"{\"run\":\"e0d4994c2d98\",\"runbook\":\"Count\",` +
		`\"runbook_hash\":\"45993f77e2de82ef1876c2759e67693fad85124c1d7cad686d2ea941f49d217a\",\"step\":1,\"label\":\"One\",` +
		`\"type\":\"shell\",\"required\":true,\"status\":\"success\",\"executed_at\":\"2026-11-17T14:34:19.965Z\",` +
		`\"nonce\":\"e29656b8f6e8fa34eee3a06b5156b5a1\",\"previous\":\"aeebad4a796fcc2e15dc4c6061b45ed9b373f26adfc798ca7d2d8cc58182718e\",` +
		`\"by\":\"gateway\",\"challenge\":{\"type\":\"shell\",\"shell\":{\"cmd\":\"echo 1\",\"timeout_seconds\":60},\"required\":true},` +
		`\"shell\":{\"exit_code\":0,\"stdout\":\"1\\n\",\"stderr\":\"\",\"duration_seconds\":0.007635517}}",` +
		`"proof_hash":"55d04ce36d78cc47b760416f84ea23fb026ae0c442379a137ce0023c9c5d8abd"}]}`
)

// TestTheStateOfTheVersionBeforeIsRead opens a state with a runbook whose record has no chat, and
// reads an export without a signature.
func TestTheStateOfTheVersionBeforeIsRead(t *testing.T) {
	ctx := t.Context()
	db := musttest.Get(sqlite.Open(ctx, t.TempDir(), sqlite.Options{}))(t)
	t.Cleanup(func() { db.Close() })
	musttest.Do(t, db.SaveRecords(ctx, map[string]string{earlierKey: earlierMinted}))
	runs := runbook.Runs{Records: db}
	for _, chat := range []string{"", "net:1"} {
		list := must1(runs.ListMinted(ctx, chat))
		if len(list) != 1 || !list[0].Shared || !list[0].SharedAt.IsZero() || list[0].Source().StepURI(1) != "kairos://mem/28521bf9-2639-81e2-85e3-a4154f178e31" {
			t.Fatalf("chat %q has %+v", chat, list)
		}
		if _, err := runs.Mint(ctx, runbook.MintRequest{Chat: chat, Text: "# Old & Gold\n", Force: true}); !errors.Is(err, runbook.ErrShared) {
			t.Errorf("chat %q replaces it: %v", chat, err)
		}
	}
	run, _, err := runs.Begin(ctx, runbook.Start{Runbook: must1(runs.ListMinted(ctx, ""))[0].Runbook, Source: runbook.SharedSource("Old & Gold")})
	if err != nil {
		t.Fatal(err)
	}
	if vouched := must1(runs.IsVouchedFor(ctx, run)); vouched {
		t.Error("nobody has shared it")
	}
	must1(runs.Share(ctx, runbook.ShareRequest{Label: "Old & Gold"}))
	if vouched := must1(runs.IsVouchedFor(ctx, run)); !vouched {
		t.Error("the operator has shared it")
	}
	must1(runs.Unshare(ctx, "Old & Gold"))
	if list := must1(runs.ListMinted(ctx, "net:1")); len(list) != 0 {
		t.Errorf("chat net:1 still has %+v", list)
	}

	e := musttest.Get(runbook.DecodeExport(earlierExport))(t)
	if _, err := runbook.Verify(e); err != nil {
		t.Error(err)
	}
	if err := e.CheckSignature(must1(runs.PublicKey(ctx))); err == nil || !strings.Contains(err.Error(), "it is not signed") {
		t.Errorf("its signature: %v", err)
	}
}
