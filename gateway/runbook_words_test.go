package gateway_test

import (
	"strings"
	"testing"

	"nanobot/gateway/runbook"
	"nanobot/internal/words"
)

// failingRunbook has a step that fails until the file "fixed" exists, and one that people approve.
const failingRunbook = "# Fix\n\n## Check\n\n```json\n{\"challenge\":{\"shell\":{\"cmd\":\"test -e fixed\",\"timeout_seconds\":60}}}\n```\n" +
	"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\",\"approvals\":2}}}\n```\n"

func TestARunSpeaksTheLanguageOfWhoStartedItAndSurvivesOtherWords(t *testing.T) {
	t.Parallel()
	fx := newRunbookFixture(t, `read -r line; echo "$line" >> prompts; echo ok`, map[string]string{"fix": failingRunbook})
	fx.net.Languages = map[string]string{"anna": "de-AT", "bob": "en"}
	fx.start()
	fx.net.UserWrites("1", "anna", "/runbooks")
	fx.awaitText("1", "Runbooks. Um eines auszuführen, sende /run und seinen Namen:\n- `fix`: Fix (2 Schritte)")
	fx.net.UserWrites("1", "anna", "/run fix")
	failed := fx.awaitText("1", "Schritt 1 ist 3-mal gescheitert.")
	for _, part := range []string{"Der Befehl `test -e fixed` endete mit Exit-Status 1. Er hat nichts ausgegeben."} {
		if !strings.Contains(failed.Text, part) {
			t.Errorf("the question is %q", failed.Text)
		}
	}
	fx.expectPrompt("The last attempt failed. The command `test -e fixed` ended with exit status 1. It printed nothing.")
	// The gateway now has other words, and the question still has the earlier ones.
	fx.settings.Words = words.Settings{Language: "en", Overrides: map[string]string{"buttonRetry": "Skip", "buttonSkip": "Retry", "buttonApprove": "Fine"}}
	fx.restart()
	fx.touchFile("fixed")
	fx.net.UserReplies("1", "bob", failed.ID, "noch einmal")
	gate := fx.awaitText("1", "2 people have to approve.")
	fx.settings.Words = words.Settings{}
	fx.restart()
	fx.pressButton("bob", gate, 0)
	fx.awaitText("1", "1 of 2 approvals. Somebody else has to approve, too.")
	fx.pressButton("anna", gate, 0)
	fx.awaitReport("1", "Der Lauf ist fertig.")
}

func TestTheReportSaysWhoseWordEachProofIs(t *testing.T) {
	t.Parallel()
	const book = "# Three\n\n## Look\n\nPROOF OF WORK: true\n\n## Say\n\nSay it.\n\n```json\n{\"challenge\":{\"type\":\"comment\",\"comment\":{\"min_length\":1}}}\n```\n" +
		"## Go\n\n```json\n{\"challenge\":{\"type\":\"user_input\",\"user_input\":{\"prompt\":\"Go on?\"}}}\n```\n"
	for person, want := range map[string][]string{
		"anna": {"Der Lauf ist fertig.", "1. Look · von nanobot gesehen", "2. Say · laut Agent", "3. Go · net:anna", "1 von 3 Beweisen ist nur das Wort des Agenten."},
		"bob":  {"The run is complete.", "1. Look · seen by nanobot", "2. Say · the agent's word", "3. Go · net:bob", "1 of 3 proofs is the agent's own word."},
	} {
		fx := newRunbookFixture(t, "echo done", map[string]string{"three": book})
		fx.net.Languages = map[string]string{"anna": "de-AT", "bob": "en"}
		fx.start()
		fx.net.UserWrites("1", person, "/run three")
		fx.pressButton(person, fx.awaitGates("1", 1)[0], 0)
		export, _ := fx.awaitReport("1", want[0])
		for _, part := range want {
			fx.awaitText("1", part)
		}
		if got := export.Records; got[0].Word != runbook.WordOfGateway || got[1].Word != runbook.WordOfAgent || got[2].Word != runbook.WordOfPerson {
			t.Errorf("the export says %+v", got)
		}
	}
}
