package tools_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestARunOfEachTypeOfChallengeIsProvedFromBeginToEnd(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	book := runbook.WorkspaceSource("ship")

	first := c.call("kairos_begin", args{"uri": book.StepURI(1)}).ok().want(
		"must_obey", true, "current_step", args{"uri": book.StepURI(1), "content": "Do Test.", "mimeType": "text/markdown"},
		"challenge.type", "shell", "challenge.description", "Execute shell command: make test",
		"challenge.shell", args{"cmd": "make test", "timeout_seconds": 5}, "challenge.proof_hash", genesis,
		"next_action", "call kairos_next with "+book.StepURI(1)+" and solution matching challenge",
	)
	if strings.Contains(first.text, "message") || len(first.str("run")) != 12 {
		t.Errorf("kairos_begin: %s", first.text)
	}
	second := c.next(first, "shell", shell(0)).ok().want("challenge.type", "mcp", "run", first.str("run"), "current_step.uri", book.StepURI(2))
	if second.str("proof_hash") == "" || second.str("proof_hash") != second.str("challenge.proof_hash") {
		t.Errorf("the hash of the record is not the next one to be sent: %s", second.text)
	}
	third := c.next(second, "mcp", args{"tool_name": "deploy", "success": true, "result": args{"url": "https://x"}}).ok().want("challenge.user_input.prompt", "Ship it?")
	fourth := c.next(third, "user_input", args{"confirmation": "no"}).ok().want("challenge.comment.min_length", 20) // not interpreted
	end := c.next(fourth, "comment", args{"text": testComment}).ok().want(
		"message", "Protocol completed. No further steps.", "next_action", "Run complete.", "challenge", nil,
	)
	stored, err := fx.runs().Load(t.Context(), first.str("run"))
	if err != nil || stored.Status != runbook.Complete || stored.Chat != "" || stored.By != "agent" || stored.LastHash() != end.str("proof_hash") {
		t.Fatalf("the run is %+v, %v", stored, err)
	}
	if _, err := runbook.Verify(stored.Export()); err != nil {
		t.Error(err)
	}
	if last := stored.Records[3].Record; !strings.Contains(last, testComment) {
		t.Errorf("the comment was changed: %s", last)
	}
}

// TestTextsAreNotEscapedForHTML reads the text of a result as a model does.
func TestTextsAreNotEscapedForHTML(t *testing.T) {
	fx := newFixture(t)
	fx.write("html", "# A & B\n\n## <One>\n\nUse a < b && c > d.\n")
	got := fx.connect(fx.options(), nil).begin("A & B")
	if !strings.Contains(got.text, "Use a < b && c > d.") {
		t.Error(got.text)
	}
}

func TestARunBeginsWithStep1WhicheverStepIsNamed(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	book := runbook.WorkspaceSource("ship")
	fx.connect(fx.options(), nil).call("kairos_begin", args{"uri": strings.ToUpper(book.StepURI(3)[13:])}).fails("INVALID_URI", "")
	fx.connect(fx.options(), nil).call("kairos_begin", args{"uri": book.StepURI(3)}).ok().want(
		"current_step.uri", book.StepURI(1), "message", "Redirected to step 1 of this protocol chain.",
	)
}

func TestBadAndUnknownURIsAreResultsWithIsError(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	c := fx.connect(fx.options(), nil)
	unknown := runbook.WorkspaceSource("other").StepURI(1)
	for _, tool := range []string{"kairos_begin", "kairos_next", "kairos_attest", "kairos_dump"} {
		with := func(uri any) args {
			return args{"uri": uri, "solution": args{}, "outcome": "success", "message": "well"}
		}
		for _, bad := range []any{"", "kairos://mem/1", "https://example.org", "kairos://mem/" + strings.Repeat("z", 36)} {
			c.call(tool, with(bad)).fails("INVALID_URI", "kairos_search")
		}
		c.call(tool, args{}).fails("INVALID_URI", "required")
		c.call(tool, nil).fails("INVALID_URI", "required")
		c.call(tool, with(7)).fails("INVALID_ARGUMENT", "uri must be a string")
		c.call(tool, with(strings.Repeat("x", 300))).fails("TOO_LARGE", "uri")
		c.call(tool, with(unknown)).fails("NOT_FOUND", "")
		c.call(tool, []int{1}).fails("INVALID_ARGUMENT", "object")
	}
	c.call("kairos_next", args{"uri": runbook.WorkspaceSource("ship").StepURI(1)}).fails("NOT_FOUND", "Call kairos_begin")
}

func TestMintStoresARunbookOnce(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	book := runbook.MintedSource("", "Ship")
	minted := c.call("kairos_mint", args{"markdown_doc": fourSteps("Ship"), "llm_model_id": "m"}).ok().want("status", "stored", "items.0", args{
		"uri": book.StepURI(1), "memory_uuid": book.StepUUID(1), "label": "Test", "tags": []string{},
	}, "items.3.label", "Sum up", "items.4", nil, "warnings", nil)
	if minted.str("items.0.uri") != "kairos://mem/"+minted.str("items.0.memory_uuid") {
		t.Error(minted.text)
	}
	changed := strings.ReplaceAll(fourSteps("Ship"), "make test", "make check")
	c.call("kairos_mint", args{"markdown_doc": changed, "llm_model_id": "m"}).fails("DUPLICATE_CHAIN", "force_update").
		want("items.0", args{"label": "Test", "uri": book.StepURI(1)})
	before := c.begin("Ship").want("challenge.shell.cmd", "make test")
	c.call("kairos_mint", args{"markdown_doc": changed, "llm_model_id": "m", "force_update": true}).ok().want("items.0.uri", book.StepURI(1))
	c.begin("Ship").want("challenge.shell.cmd", "make check")
	c.next(before, "shell", shell(1)).refused("COMMAND_FAILED").want("challenge.shell.cmd", "make test") // it keeps its text
}

func TestMintRefusesInvalidRunbooks(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	for name, doc := range map[string]string{
		"no H1": "## Step\n", "two H1": "# A\n\n# B\n\n# A\n", "unknown type": "# A\n\n" + step("One", `{"type": "magic"}`),
		"no cmd": "# A\n\n" + step("One", `{"type": "shell"}`), "no tool_name": "# A\n\n" + step("One", `{"type": "mcp"}`),
		"negative": "# A\n\n" + step("One", `{"type": "comment", "comment": {"min_length": -1}}`),
	} {
		t.Run(name, func(*testing.T) { c.call("kairos_mint", args{"markdown_doc": doc}).fails("STORE_FAILED", "line ") })
	}
	c.call("kairos_mint", args{"markdown_doc": "# A\n\n" + step("One", `{"type": "magic"}`)}).fails("STORE_FAILED", `"One"`)
	c.call("kairos_mint", args{"markdown_doc": 1}).fails("INVALID_ARGUMENT", "markdown_doc must be a string")
	c.call("kairos_mint", args{"markdown_doc": "# A", "force_update": "yes"}).fails("INVALID_ARGUMENT", "true or false")
	c.call("kairos_mint", args{"markdown_doc": "# A\n\n" + strings.Repeat("x", runbook.MaxText)}).fails("STORE_FAILED", "at most 262144")
	wanttest.Equal(t, "values were stored:", len(fx.store.values), 0)
	c.call("kairos_mint", args{"markdown_doc": "# A\n\n## One\n\n```json\n{\"challenge\": {\n```\n"}).ok().want("warnings.0.line", 5)
	fx.store.err = errTest
	c.call("kairos_mint", args{"markdown_doc": "# B"}).fails("INTERNAL", "Disk on fire.")
}

func TestMintNeverReplacesARunbookOfTheWorkspace(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship"))
	fx.write("broken", "# Broken\n\n"+step("One", `{"type": "magic"}`))
	c := fx.connect(fx.options(), nil)
	for _, force := range []bool{false, true} {
		c.call("kairos_mint", args{"markdown_doc": "# Ship\n\n## Cheat\n", "force_update": force}).
			fails("DUPLICATE_CHAIN", "workspace").want("items.0.uri", runbook.WorkspaceSource("ship").StepURI(1))
		c.call("kairos_mint", args{"markdown_doc": "# Broken\n", "force_update": force}).fails("DUPLICATE_CHAIN", "workspace")
	}
	c.begin("Ship").want("challenge.type", "shell")
}

func TestTheNumberOfStoredRunbooksIsLimited(t *testing.T) {
	fx := newFixture(t)
	for i := range 1000 {
		musttest.Get(fx.runs().Mint(t.Context(), runbook.MintRequest{Text: fmt.Sprintf("# %d", i)}))(t)
	}
	c := fx.connect(fx.options(), nil)
	c.call("kairos_mint", args{"markdown_doc": "# 1000"}).fails("STORE_FAILED", "1000 runbooks are stored already")
	c.call("kairos_mint", args{"markdown_doc": "# 7\n\nChanged.", "force_update": true}).ok()
}

func TestTheSizeOfStoredRunbooksIsLimited(t *testing.T) {
	if !killtest.IsLong() {
		t.Skip("reading 4 MiB of Markdown again and again takes ten seconds with the race detector")
	}
	fx := newFixture(t)
	long := "\n```\n" + strings.Repeat(strings.Repeat("x", 1023)+"\n", 255) + "```\n"
	for i := range 16 {
		musttest.Get(fx.runs().Mint(t.Context(), runbook.MintRequest{Text: fmt.Sprintf("# %d\n%s", i, long)}))(t)
	}
	c := fx.connect(fx.options(), nil)
	c.call("kairos_mint", args{"markdown_doc": "# 100"}).ok()
	c.call("kairos_mint", args{"markdown_doc": "# 101\n" + long}).fails("STORE_FAILED", "17 runbooks are stored already")
}

func TestSearchFindsRunbooksByTheWordsOfLabelsAndTexts(t *testing.T) {
	fx := newFixture(t)
	fx.write("ship", fourSteps("Ship the website"))
	fx.write("review", "# Review\n\n## Read the website\n\nLook at every deployment.\n")
	fx.write("broken", "# Broken website\n\n# Twice\n")
	c := fx.connect(fx.options(), nil)
	c.call("kairos_mint", args{"markdown_doc": "# Holiday\n\n## Pack\n\nTake a towel.\n"}).ok()
	labels := func(query any) []string {
		got := c.call("kairos_search", args{"query": query}).ok().want("must_obey", true)
		names := []string{}
		for _, choice := range got.at("choices").([]any) {
			choice := choice.(map[string]any)
			names = append(names, choice["chain_label"].(string))
			uri := choice["uri"].(string)
			if choice["role"] != "match" || !equal(choice["tags"], []string{}) || choice["score"].(float64) <= 0 || choice["next_action"] != "call kairos_begin with "+uri+" to execute this protocol" {
				t.Errorf("choice: %v", choice)
			}
		}
		if got.str("message") == "" || got.str("next_action") == "" {
			t.Error(got.text)
		}
		return names
	}
	for query, want := range map[string][]string{
		"":               {"Review", "Ship the website", "Holiday"},
		"  ":             {"Review", "Ship the website", "Holiday"},
		"website":        {"Ship the website", "Review"},
		"WEBSITE, read!": {"Review", "Ship the website"},
		"towel":          {"Holiday"},
		"deploy":         {"Ship the website", "Review"},
	} {
		wanttest.EqualSlices(t, query+": finds", labels(query), want)
	}
	if got := labels(nil); len(got) != 3 {
		t.Errorf("without a query: %q", got)
	}
	c.call("kairos_search", args{"query": "towel"}).want("choices.0.label", "Pack", "choices.0.uri", runbook.MintedSource("", "Holiday").StepURI(1))
	c.call("kairos_search", args{"query": 1}).fails("INVALID_ARGUMENT", "query")
	c.call("kairos_search", args{"query": strings.Repeat("x ", 1000)}).fails("TOO_LARGE", "query")
}

func TestDumpReturnsAStepOrTheWholeDocument(t *testing.T) {
	fx := newFixture(t)
	text := fourSteps("Ship") + "## Done\n\nRest.\n"
	fx.write("ship", text)
	c := fx.connect(fx.options(), nil)
	book := runbook.WorkspaceSource("ship")
	c.call("kairos_dump", args{"uri": book.StepURI(1)}).ok().want(
		"markdown_doc", "Do Test.", "uri", book.StepURI(1), "label", "Test", "chain_label", "Ship",
		"position", args{"step_index": 1, "step_count": 5}, "challenge.type", "shell", "challenge.shell.cmd", "make test",
	)
	c.call("kairos_dump", args{"uri": book.StepURI(5), "protocol": false}).ok().want("label", "Done", "challenge", nil)
	whole := c.call("kairos_dump", args{"uri": book.StepURI(2), "protocol": true}).ok().want(
		"markdown_doc", text, "label", "Ship", "chain_label", "Ship", "step_count", 5, "uri", book.StepURI(1),
	)
	again := strings.Replace(whole.str("markdown_doc"), "# Ship", "# Again", 1)
	c.call("kairos_mint", args{"markdown_doc": again}).ok()
	minted := runbook.MintedSource("", "Again")
	for i := 1; i <= 5; i++ {
		was, is := c.call("kairos_dump", args{"uri": book.StepURI(i)}), c.call("kairos_dump", args{"uri": minted.StepURI(i)})
		is.want("markdown_doc", was.at("markdown_doc"), "label", was.at("label"), "challenge", was.at("challenge"))
	}
	c.call("kairos_dump", args{"uri": book.StepURI(1), "protocol": 1}).fails("INVALID_ARGUMENT", "protocol")
}

func TestTheToolsOfAChatAreThereOnlyWithAChat(t *testing.T) {
	fx := newFixture(t)
	names := func(o tools.Options) (names []string) {
		list := musttest.Get(fx.connect(o, nil).ListTools(t.Context(), nil))(t)
		for _, tool := range list.Tools {
			names = append(names, tool.Name)
			if tool.Description == "" || tool.InputSchema == nil {
				t.Errorf("%s is not described", tool.Name)
			}
		}
		return names
	}
	kairos := []string{"kairos_attest", "kairos_begin", "kairos_dump", "kairos_mint", "kairos_next", "kairos_search"}
	wanttest.EqualSlices(t, "stand-alone:", names(fx.options()), kairos)
	o := fx.options()
	o.Chat = &fakeChat{name: "web:1"}
	got := names(o)
	slices.Sort(got)
	wanttest.EqualSlices(t, "with a chat:", got, []string{"ask_user", "cancel_schedule", "kairos_attest", "kairos_begin", "kairos_dump", "kairos_mint", "kairos_next", "kairos_search", "list_schedules", "progress", "schedule_message", "search_history", "send_files", "send_message"})
}
