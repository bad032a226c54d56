package tools_test

import (
	"fmt"
	"strconv"
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/gateway/tools"
)

// wantText checks the whole text of a result.
func (r result) wantText(want string) {
	r.Helper()
	if r.text != want {
		r.Errorf("the model reads\n%s\nand not\n%s", r.text, want)
	}
}

// mintedText returns the text of the result for some stored runbooks: label, step, label, step.
func mintedText(steps ...string) string {
	items := []string{}
	for i := 0; i < len(steps); i += 2 {
		index := 1
		if i >= 2 && steps[i-2] == steps[i] {
			index = 2
		}
		uuid := runbook.MintedSource("", steps[i]).StepUUID(index)
		items = append(items, fmt.Sprintf(`{"uri":"kairos://mem/%[1]s","memory_uuid":"%[1]s","label":%[2]q,"tags":[]}`, uuid, steps[i+1]))
	}
	return `{"items":[` + strings.Join(items, ",") + `],"status":"stored"}`
}

func TestMintTakesADocumentThatIsEncodedTwice(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	doc := fourSteps("Ship \"it\"")
	c.call("kairos_mint", args{"markdown_doc": " " + strconv.Quote(doc) + "\n"}).ok()
	c.call("kairos_dump", args{"uri": runbook.MintedSource("", `Ship "it"`).StepURI(1), "protocol": true}).ok().want("markdown_doc", doc)
	c.call("kairos_mint", args{"markdown_doc": `"# Pack\n\n## Take a towel\n\nA \"big\" one.\n"`}).wantText(mintedText("Pack", "Take a towel"))
	c.call("kairos_mint", args{"markdown_doc": `"Just" quotes`}).wantText(mintedText(`"Just" quotes`, `"Just" quotes`))
	c.call("kairos_mint", args{"markdown_doc": "null"}).wantText(mintedText("null", "null"))
}

func TestMintStoresEachH1AsARunbook(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	const two = "# Build\n\n## Compile\n\n## Link\n\n# Release\n\nTag it.\n"
	c.call("kairos_mint", args{"markdown_doc": two}).wantText(mintedText("Build", "Compile", "Build", "Link", "Release", "Release"))
	c.wantLabels("Build", "Release")
	c.call("kairos_dump", args{"uri": runbook.MintedSource("", "Release").StepURI(1), "protocol": true}).want("markdown_doc", "# Release\n\nTag it.\n")

	// A document is stored as a whole or not at all.
	taken := fmt.Sprintf(`{"error":"DUPLICATE_CHAIN","message":"There is a runbook with the label \"Release\". Call kairos_mint with force_update true to replace it, or choose another H1.",`+
		`"items":[{"label":"Release","uri":%q}]}`, runbook.MintedSource("", "Release").StepURI(1))
	c.call("kairos_mint", args{"markdown_doc": "# New\n\n# Release\n"}).wantText(taken)
	c.call("kairos_mint", args{"markdown_doc": "# New\n\n# Other\n\n" + step("One", `{"type": "magic"}`)}).
		wantText(`{"error":"STORE_FAILED","message":"line 9: Step \"One\": the challenge has the unknown type \"magic\". The types are shell, mcp, user_input and comment."}`)
	c.call("kairos_mint", args{"markdown_doc": "# New\n\n# New\n"}).wantText(`{"error":"STORE_FAILED","message":"line 3: There are two H1 \"New\"."}`)
	c.call("kairos_mint", args{"markdown_doc": "# New\n"}).ok()
	many := ""
	for i := range 51 {
		many += fmt.Sprintf("# %d\n", i)
	}
	c.call("kairos_mint", args{"markdown_doc": many}).wantText(`{"error":"STORE_FAILED","message":"The document has 51 runbooks, and at most 50 are accepted. Divide it."}`)
	c.wantLabels("Build", "New", "Release")
	c.call("kairos_mint", args{"markdown_doc": strings.Replace(two, "Tag it", "Tag them", 1), "force_update": true}).ok()
	c.wantLabels("Build", "New", "Release")
}

func TestEachRunbookOfADocumentCountsForTheRateLimit(t *testing.T) {
	fx := newFixture(t)
	o := fx.options()
	left := 2
	o.AdmitWrites = func(n int) error {
		if left -= n; left < 0 {
			return &tools.RateLimitError{}
		}
		return nil
	}
	c := fx.connect(o, nil)
	c.call("kairos_mint", args{"markdown_doc": "# A\n# B\n# C\n"}).fails("RATE_LIMITED", "")
	if n := len(fx.store.values); n != 0 {
		t.Errorf("%d runbooks were stored", n)
	}
}

func TestMintStoresADocumentWithoutHeadingsAsOneStep(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	text := "Restart the web server.\n\nWait a minute, then look at the log.\n\n```json\n{\"challenge\": " + commentChallenge + "}\n```\n"
	c.call("kairos_mint", args{"markdown_doc": text}).wantText(mintedText("Restart the web server.", "Restart the web server."))
	book := runbook.MintedSource("", "Restart the web server.")
	c.begin("Restart the web server.").want("current_step.content", "Restart the web server.\n\nWait a minute, then look at the log.", "challenge.comment.min_length", 20)
	whole := c.call("kairos_dump", args{"uri": book.StepURI(1), "protocol": true}).ok().want("markdown_doc", "# Restart the web server.\n\n"+text)
	c.call("kairos_mint", args{"markdown_doc": whole.str("markdown_doc"), "force_update": true}).wantText(mintedText("Restart the web server.", "Restart the web server."))
}

func TestMintRefusesADocumentThatIsMissing(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	for _, a := range []any{nil, args{}, args{"markdown_doc": nil}, args{"markdown_doc": ""}, args{"markdown_doc": " \n"}, args{"markdown_doc": `"\n "`}, args{"markdown_doc": `""`}} {
		c.call("kairos_mint", a).fails("INVALID_ARGUMENT", "").
			wantText(`{"error":"INVALID_ARGUMENT","message":"markdown_doc is required, and must not be empty."}`)
	}
}

func TestMintWarnsAboutKeysThatAChallengeDoesNotHave(t *testing.T) {
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	doc := "# A\n\n" + step("One", `{"type": "comment", "comment": {"minlength": 9}}`)
	c.call("kairos_mint", args{"markdown_doc": doc}).wantText(strings.TrimSuffix(mintedText("A", "One"), "}") +
		`,"warnings":[{"line":7,"step":"One","message":"Step \"One\": the comment challenge has no key ` + "`comment.minlength`" + `, so that is ignored. Did you mean ` + "`comment.min_length`" + `?"}]}`)
}

func TestSearchFindsFileNamesAndWordStems(t *testing.T) {
	fx := newFixture(t)
	fx.write("rollout-prod", "# Ship the website\n\n## Build\n\nRun the migration and verify it.\n")
	c := fx.connect(fx.options(), nil)
	uri := runbook.WorkspaceSource("rollout-prod").StepURI(1)
	found := func(score string) string {
		return fmt.Sprintf(`{"must_obey":true,"message":"One runbook matches.","next_action":"call kairos_begin with %[1]s to execute this protocol","choices":[`+
			`{"uri":"%[1]s","label":"Build","chain_label":"Ship the website","score":%[2]s,"role":"match","tags":[],"next_action":"call kairos_begin with %[1]s to execute this protocol"}]}`, uri, score)
	}
	for query, score := range map[string]string{
		"rollout": "1", "rollout-prod": "1", "production rollouts": "0.45", "websites": "0.9", "shipping": "0.9", "shipped websites": "0.9",
		"builds": "0.72", "migrate": "0.45", "migrating": "0.45", "verification": "0.45", "verified": "0.45", "runs": "0.45", "web": "0.7",
	} {
		c.call("kairos_search", args{"query": query}).ok().wantText(found(score))
	}
}

func TestSearchOffersToStoreARunbookWhenNothingMatches(t *testing.T) {
	const nothing = `{"must_obey":true,"message":"No runbook matches.","next_action":"call kairos_search with other words, or with an empty query to list all; if none fits, follow the next_action of the choice","choices":[` +
		`{"uri":"","label":"Store a new runbook","chain_label":"","score":null,"role":"create","tags":[],"next_action":"if the user wants a new runbook, call kairos_mint with its Markdown as markdown_doc"}]}`
	fx := newFixture(t)
	c := fx.connect(fx.options(), nil)
	c.call("kairos_search", args{"query": ""}).ok().wantText(nothing)
	fx.write("ship", fourSteps("Ship"))
	for _, query := range []string{"holiday", "shape"} {
		c.call("kairos_search", args{"query": query}).ok().wantText(nothing)
	}
}
