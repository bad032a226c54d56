package examples_test

import (
	"encoding/json"
	"os/exec"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

func TestTheHelpersReadAnAnswer(t *testing.T) {
	t.Parallel()
	for _, command := range [][]string{
		{"python3", "-B", "agent.py"}, {"node", "agent.mjs"}, {"bash", "agent.sh"}, {"go", "run", "agent.go", "nanobot.go"},
	} {
		t.Run(command[0], func(t *testing.T) {
			t.Parallel()
			skipWithout(t, command[0])
			cmd := exec.CommandContext(t.Context(), command[0], command[1:]...)
			cmd.Dir = "helpers"
			cmd.Stdin = strings.NewReader(`{"text": "ask"}` + "\n" + `{"type": "inject", "text": "meanwhile"}` + "\n" +
				`{"type": "answer", "id": "q0", "text": "Red"}` + "\n" + `{"type": "answer", "id": "q1", "text": "Blue"}`)
			out := musttest.Get(cmd.Output())(t)
			var ask, answer struct {
				Type, ID, Text string
				Options        []string
			}
			lines := json.NewDecoder(strings.NewReader(string(out)))
			musttest.Do(t, lines.Decode(&ask))
			musttest.Do(t, lines.Decode(&answer))
			wanttest.Equal(t, "the question", ask.Type+" "+ask.ID+" "+ask.Text+" "+strings.Join(ask.Options, ","), "ask q1 Which one? Red,Blue")
			wanttest.Equal(t, "the message", answer.Type+" "+answer.Text, "message You chose Blue.")
		})
	}
}

func TestTheBashHelperSendsWhatLooksLikeAnOption(t *testing.T) {
	t.Parallel()
	skipWithout(t, "jq")
	cmd := exec.CommandContext(t.Context(), "bash", "-c", `source ./nanobot.sh; ask "Which?" --version -n </dev/null || message Hi -h`)
	cmd.Dir = "helpers"
	wanttest.Equal(t, "the output", string(musttest.Get(cmd.Output())(t)),
		`{"type":"ask","text":"Which?","id":"q1","options":["--version","-n"]}`+"\n"+`{"type":"message","text":"Hi","media":["-h"]}`+"\n")
}
