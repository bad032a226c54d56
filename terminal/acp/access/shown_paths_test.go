package access

import (
	"encoding/json"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func TestAPathInAQuestionHidesNoCharacters(t *testing.T) {
	t.Parallel()
	odd := t.TempDir() + "/Make\u200bfile\u202ehs.tset\nx"
	const shown = "Make<U+200B>file<U+202E>hs.tset␊x"
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink(odd, link); err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct{ request, want string }{
		"a location": {`"kind":"read","locations":[{"path":PATH}]`, "/" + shown + "`"},
		"another location": {
			`"kind":"read","locations":[{"path":"/x"},{"path":PATH}]`, "/" + shown + "`",
		},
		"an input":           {`"kind":"delete","rawInput":{"path":PATH}`, "/" + shown + "`"},
		"a change":           {`"kind":"edit","content":[{"type":"diff","path":PATH,"newText":"x"}]`, "/" + shown + "` · new"},
		"a target of a link": {`"kind":"edit","locations":[{"path":"` + link + `"}]`, "/" + shown + "`"},
	} {
		raw, err := json.Marshal(odd)
		if err != nil {
			t.Fatal(err)
		}
		a := askAfter(t, "ask", "Reject", `"title":"Do it",`+strings.ReplaceAll(c.request, "PATH", string(raw)), usualOptions)
		lines := strings.Split(a.question.Text, "\n")
		if !slices.ContainsFunc(lines, func(line string) bool { return strings.Contains(line, c.want) }) || strings.ContainsAny(a.question.Text, "\u200b\u202e") {
			t.Errorf("%s: asked %q", name, a.question.Text)
		}
	}
}
