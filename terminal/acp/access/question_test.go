package access

import (
	"context"
	"testing"

	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
	"nanobot/terminal/acp/view"
)

func TestAQuestionNamesTheWorkingFolderOnlyIfItIsToBeChanged(t *testing.T) {
	t.Parallel()
	turn, r := acptest.NewTurn(t)
	dir := turn.ExecEnv().Dir
	var asked string
	r.OnAsk = func(_ context.Context, q terminal.Question) (terminal.Answer, error) {
		asked = q.Text
		return terminal.Answer{Text: "Reject"}, nil
	}
	v := view.New(turn, nil)
	for name, c := range map[string]struct{ call, want string }{
		"a command":           {`"title":"ls","kind":"execute","rawInput":{"command":"ls","cwd":"` + dir + `"},"locations":[{"path":"` + dir + `"}]`, "🔐 💻 ls"},
		"a folder in it":      {`"title":"ls","kind":"execute","locations":[{"path":"` + dir + `/src/"}]`, "🔐 💻 ls\n`src`"},
		"a search":            {`"title":"grep x","kind":"search","rawInput":{"path":"."}`, "🔐 🔎 grep x"},
		"its removal":         {`"title":"Remove","kind":"delete","rawInput":{"path":"."}`, "🔐 🗑 Remove\n`" + dir + "`"},
		"its removal by name": {`"title":"Remove","kind":"delete","locations":[{"path":"` + dir + `/"}]`, "🔐 🗑 Remove\n`" + dir + "`"},
	} {
		t.Run(name, func(t *testing.T) {
			requestPermission(t.Context(), t, Policy{Permissions: "ask"}, v, c.call, usualOptions)
			if asked != c.want {
				t.Errorf("asked %q, want %q", asked, c.want)
			}
		})
	}
	closeView(t, v)
}
