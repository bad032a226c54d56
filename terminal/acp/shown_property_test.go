package acp_test

import (
	"context"
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"mvdan.cc/sh/v3/syntax"

	"nanobot/config"
	"nanobot/internal/killtest"
	"nanobot/internal/musttest"
	"nanobot/terminal"
	"nanobot/terminal/acp/acptest"
)

// allowed is a question that a person has answered with a permission, and the documents before it.
type allowed struct {
	text    string
	command shownCommand
	calls   int // that the permission covers; -1: all until the end of the session
}

// shownCommand is a command with its folder, "" for the agent's, and its variables, each in a line.
type shownCommand struct{ line, folder, variables string }

// readCommand returns the command of a question, exactly as the person has seen it.
func readCommand(text, document string) (c shownCommand) {
	const spanEnd = "`\n"
	name, rest, _ := strings.Cut(text+"\n", "\n")
	name, isCommand := strings.CutPrefix(name, "🔐 💻 ")
	if !isCommand {
		return shownCommand{}
	}
	c.line = name
	if inside := strings.Trim(name, "`"); name == "`"+inside+"`" {
		c.line = inside
	}
	if strings.HasPrefix(rest, "```") {
		fence, body, _ := strings.Cut(rest, "\n")
		c.line, rest, _ = strings.Cut(body, "\n"+fence+"\n")
	}
	// The document has what is cut: the command, the explanation, or both.
	if whole, _, _ := strings.Cut(document, "\n\n{\"command\""); whole != "" && !strings.HasPrefix(whole, "{") {
		c.line = whole
	}
	if folder, isFolder := strings.CutPrefix(rest, "in `"); isFolder {
		c.folder, rest, _ = strings.Cut(folder, spanEnd)
	}
	for line := range strings.Lines(rest) {
		if variable, isVariable := strings.CutPrefix(line, "with `"); isVariable {
			c.variables += strings.TrimSuffix(variable, spanEnd) + "\n"
		}
	}
	return c
}

// need is what a person must have seen before a call: the command, or all parts of a change.
type need struct {
	command shownCommand
	parts   []string
}

// shows reports whether the person has seen what a call needs.
func (a allowed) shows(n need) bool {
	if n.command != (shownCommand{}) {
		return a.command == n.command
	}
	return !slices.ContainsFunc(n.parts, func(part string) bool { return !strings.Contains(a.text, part) })
}

// randomAgent generates scripts of an agent, and answers its questions at random. Its record of the
// permissions is independent of the code under test.
type randomAgent struct {
	*rand.Rand
	p         *person
	record    string // the file with the calls of the agent
	documents map[string]string
	allowed   []allowed
	standing  map[string]bool // methods of which everything is allowed for the session
	focus     focus
}

// focus is a command and a change of a file.
type focus struct{ command, file, before, text string }

func (g *randomAgent) pick(all ...string) string { return all[g.IntN(len(all))] }

// maybe returns a text, or "" half of the time.
func (g *randomAgent) maybe(text string) string { return g.pick("", text) }

func toJSON(v any) string {
	raw, err := json.Marshal(v)
	if err != nil {
		panic(err)
	}
	return string(raw)
}

// focusOn chooses what the agent mostly reports, asks for and does in a turn.
func (g *randomAgent) focusOn() {
	g.focus = focus{}
	g.focus = focus{command: g.command(), file: g.file(), text: g.text()}
	before, _ := os.ReadFile(g.focus.file)
	g.focus.before = string(before)
}

// command returns one of a few shell commands, which append a line to the file ran.
func (g *randomAgent) command() string {
	if g.focus.command != "" && g.IntN(4) > 0 {
		return g.focus.command
	}
	line := fmt.Sprintf("echo c%d$X >> ran", 10+g.IntN(2))
	return line + g.pick("", "", " #"+strings.Repeat("x", 3000)+"end", strings.Repeat("\n", 100)+"echo hidden >> ran",
		" # `a` *b* \"c\" 'd'", "; echo '*`*' >> ran", " # ```", " `echo \"*\"`")
}

// text returns the text of a file with a few lines.
func (g *randomAgent) text() (text string) {
	if g.focus.text != "" && g.IntN(4) > 0 {
		return g.focus.text
	}
	for i := range 3 {
		if g.IntN(2) == 0 {
			text += fmt.Sprintf("l%d\n", 10+i)
		}
	}
	return text + g.pick("", "", strings.Repeat("more\n", 30)+"tail\n")
}

func (g *randomAgent) file() string {
	if g.focus.file != "" && g.IntN(4) > 0 {
		return g.focus.file
	}
	return g.p.path(g.pick("f1", "f2"))
}

// toolCall returns the fields of a tool call, each of which may be missing, empty, or another one
// than what the agent does then.
func (g *randomAgent) toolCall() string {
	diff := fmt.Sprintf(`{"type":"diff","path":%q,"oldText":%s,"newText":%s}`, g.file(), g.pick("null", toJSON(g.focus.before), toJSON(g.focus.before), toJSON("l11\n")), toJSON(g.text()))
	content := g.pick("", "[]", "[null]", "["+diff+"]", "["+diff+"]", fmt.Sprintf(`[{"type":"content","content":{"type":"text","text":%s}}]`, toJSON(toJSON(map[string]string{"command": g.command()}))))
	input := g.pick("", "{}", "null", toJSON(map[string]any{"command": g.command()}), toJSON(map[string]any{"command": g.command(), "cwd": g.pick(g.p.workspace, g.p.path("sub"))}), toJSON(map[string]any{"command": []string{"sh", "-c", g.command()}}))
	fields := []string{fmt.Sprintf(`"toolCallId":"t%d"`, g.IntN(5)), `"title":` + toJSON(g.pick("Do it", g.command()))}
	for name, value := range map[string]string{"content": content, "rawInput": input, "kind": g.pick("", `"execute"`, `"execute"`, `"edit"`, `"edit"`, `"read"`), "locations": g.maybe(`[{"path":"` + g.file() + `"}]`)} {
		if value != "" {
			fields = append(fields, fmt.Sprintf("%q:%s", name, value))
		}
	}
	slices.Sort(fields[2:]) // the order of a map is not repeatable
	return strings.Join(fields, ",")
}

// step returns one step of a script.
func (g *randomAgent) step() string {
	id := g.IntN(5)
	write := func(file, text string) string {
		return "record " + g.record + ` fs/write_text_file ` + toJSON(map[string]string{"sessionId": "SESSION", "path": file, "content": text})
	}
	askCommand := func() string {
		input := toJSON(map[string]string{"command": g.focus.command, "cwd": g.maybe(g.p.path("sub"))})
		return strings.TrimSpace(askStep(fmt.Sprintf(`"toolCallId":"t%d","title":"Do it","kind":"execute","rawInput":%s`, id, input)))
	}
	switch g.IntN(13) {
	case 7:
		return askCommand()
	case 11: // runs a part of the command
		part, _, _ := strings.Cut(g.focus.command, g.pick("\n", " #", ";", " `"))
		return askCommand() + "\nrecord " + g.record + " terminal/create " + toJSON(map[string]string{"sessionId": "SESSION", "command": part})
	case 8:
		return "record " + g.record + " terminal/create " + toJSON(map[string]string{"sessionId": "SESSION", "command": g.focus.command})
	case 9:
		return strings.TrimSpace(askStep(fmt.Sprintf(`"toolCallId":"t%d","title":"Do it","kind":"edit","content":[{"type":"diff","path":%q,"oldText":%s,"newText":%s}]`, id, g.focus.file, toJSON(g.focus.before), toJSON(g.focus.text))))
	case 10:
		return write(g.focus.file, g.focus.text)
	case 0:
		return `raw {"sessionUpdate":"` + g.pick("tool_call", "tool_call_update") + `",` + g.toolCall() + "}"
	case 1:
		return fmt.Sprintf("status t%d %s", id, g.pick("in_progress", "in_progress", "completed"))
	case 2, 3:
		return strings.TrimSpace(askStep(g.toolCall()))
	case 4:
		return write(g.file(), g.text())
	}
	params := map[string]any{"sessionId": "SESSION", "command": g.command()}
	if g.IntN(3) == 0 {
		params["command"], params["args"] = "sh", []string{"-c", g.command()}
	}
	if g.IntN(4) == 0 {
		params["env"] = []map[string]string{{"name": "X", "value": "evil"}}
	}
	if g.IntN(4) == 0 {
		params["cwd"] = g.p.path("sub")
	}
	return "record " + g.record + " terminal/create " + toJSON(params)
}

// ask answers a question at random, and records what it permits.
func (g *randomAgent) ask(_ context.Context, q terminal.Question) (terminal.Answer, error) {
	a := allowed{text: g.documents["changes.diff"] + "\n" + q.Text, command: readCommand(q.Text, g.documents["command.txt"])}
	clear(g.documents)
	n := g.IntN(len(q.Options) + 1)
	if n == len(q.Options) {
		return terminal.Answer{}, &terminal.DismissedError{By: "ann"}
	}
	option := q.Options[n]
	switch {
	case isGatewayQuestion(q) && n == 1 && g.IntN(8) > 0:
		option = "Reject" // these are rare, since they permit everything
	case option == "Allow commands for this session":
		g.standing["terminal/create"] = true
	case option == "Allow writing for this session":
		g.standing["fs/write_text_file"] = true
	case strings.HasPrefix(option, "Allow once"):
		a.calls = 1
	case strings.HasPrefix(option, "Always"):
		a.calls = -1
	}
	if a.calls != 0 {
		g.allowed = append(g.allowed, a)
	}
	return terminal.Answer{Text: option, By: "ann"}, nil
}

// need returns what a person must have seen before a call: the command with its folder and its
// variables, or the path and every line that the call adds or removes.
func (g *randomAgent) need(c acptest.RecordedCall) (n need) {
	var p struct {
		Command, Cwd, Path, Content string
		Args                        []string
		Env                         []struct{ Name, Value string }
	}
	if err := json.Unmarshal(c.Params, &p); err != nil {
		panic(err)
	}
	if c.Method == "terminal/create" {
		n.command = shownCommand{line: p.Command, folder: p.Cwd}
		for _, arg := range p.Args {
			quoted, err := syntax.Quote(arg, syntax.LangBash)
			if err != nil {
				panic(err)
			}
			n.command.line += " " + quoted
		}
		for _, v := range p.Env {
			n.command.variables += v.Name + "=" + v.Value + "\n"
		}
		return n
	}
	before, after := strings.SplitAfter(c.Before, "\n"), strings.SplitAfter(p.Content, "\n")
	for _, line := range before {
		if !slices.Contains(after, line) {
			n.parts = append(n.parts, "-"+line)
		}
	}
	for _, line := range after {
		if !slices.Contains(before, line) {
			n.parts = append(n.parts, "+"+line)
		}
	}
	if len(n.parts) > 0 {
		n.parts = append(n.parts, filepath.Base(p.Path))
	}
	return n
}

// check returns the calls that were not refused and that nobody has allowed, and the number of
// those that were not refused. Each permission for one call is matched with at most one call, so
// that as many calls as possible have one (a maximum matching).
func (g *randomAgent) check(calls []acptest.RecordedCall) (wrong []string, done int) {
	needs, user := make([]need, len(calls)), map[int]int{} // of a permission: the call that uses it
	var match func(call int, tried map[int]bool) bool
	match = func(call int, tried map[int]bool) bool {
		for i, a := range g.allowed {
			if tried[i] || !a.shows(needs[call]) {
				continue
			}
			tried[i] = true
			other, used := user[i]
			if a.calls < 0 || !used || match(other, tried) {
				user[i] = call
				return true
			}
		}
		return false
	}
	for n, c := range calls {
		if !c.OK {
			continue
		}
		done++
		needs[n] = g.need(c)
		changes := c.Method == "terminal/create" || len(needs[n].parts) > 0
		if !g.standing[c.Method] && changes && !match(n, map[int]bool{}) {
			wrong = append(wrong, fmt.Sprintf("%.400s of %.200q needs %.400q", c.Params, c.Before, needs[n]))
		}
	}
	return wrong, done
}

// TestWhatWasShownIsWhatRuns has a random agent report tool calls, ask for permission, run commands
// and write files in any order, while a person answers at random: nothing is done that was not in a
// question that the person has allowed, nor more often than that. It runs 25
// turns, or 2,000 with NANOBOT_LONG=1, and more until a question of the agent has covered a call.
func TestWhatWasShownIsWhatRuns(t *testing.T) {
	t.Parallel()
	turns, seed := killtest.Rounds(t, 25, 2000), uint64(time.Now().UnixNano())
	if given := os.Getenv("NANOBOT_SEED"); given != "" {
		musttest.Get(fmt.Sscan(given, &seed))(t)
	}
	t.Logf("NANOBOT_SEED=%d", seed)
	p := newFixture(t, "", func(c *config.Terminal) { settings(c).Permissions = "ask" }).person("a")
	musttest.Do(t, os.Mkdir(p.path("sub"), 0o700))
	g := &randomAgent{Rand: rand.New(rand.NewPCG(seed, 0)), p: p, record: filepath.Join(t.TempDir(), "calls"), standing: map[string]bool{}, documents: map[string]string{}}
	p.ask = g.ask
	p.onFrame = func(f terminal.Frame) {
		for _, path := range f.Media {
			data, err := os.ReadFile(path)
			if err != nil {
				t.Error(err)
			}
			g.documents[filepath.Base(path)] = string(data)
		}
	}
	all, granted := 0, map[string]int{}
	for turn := 0; turn < turns || turn < 20*turns && len(granted) == 0; turn++ {
		if g.IntN(8) == 0 { // as /new does
			p.memory.forget()
			g.allowed, g.standing = nil, map[string]bool{}
		}
		// What was allowed once ends with its turn.
		g.allowed = slices.DeleteFunc(g.allowed, func(a allowed) bool { return a.calls >= 0 })
		clear(g.documents) // the changes of the turn before
		g.focusOn()
		var script []string
		for range 16 {
			script = append(script, g.step())
		}
		_ = os.Remove(g.record)
		h := p.send(strings.Join(script, "\n"))
		if !slices.Contains([]terminal.Status{terminal.Done, terminal.Refused, terminal.Silent}, h.out.Status) {
			t.Fatalf("turn %d: %s %s", turn, h.out.Status, h.text(terminal.Error))
		}
		for line := range strings.Lines(h.text(terminal.Log)) {
			if strings.Contains(line, ": allowed with tool call") {
				granted[strings.Trim(strings.Fields(line)[1], ":")]++
			}
		}
		raw, _ := os.ReadFile(g.record) // missing without calls
		var calls []acptest.RecordedCall
		for line := range strings.Lines(string(raw)) {
			var c acptest.RecordedCall
			musttest.Do(t, json.Unmarshal([]byte(line), &c))
			calls = append(calls, c)
		}
		wrong, done := g.check(calls)
		all += done
		if len(wrong) > 0 {
			t.Fatalf("turn %d did what nobody has allowed:\n%s\nafter\n%.9000s", turn, strings.Join(wrong, "\n"), strings.ReplaceAll(strings.Join(script, "\n"), strings.Repeat("x", 3000), "…"))
		}
	}
	if t.Logf("%d calls were allowed, %v of them by a question of the agent", all, granted); len(granted) == 0 {
		t.Error("no permission of the agent's covered a call")
	}
}
