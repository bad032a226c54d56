package main

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway"
	"nanobot/gateway/events"
	"nanobot/gateway/metrics"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/musttest"
	"nanobot/terminal/blocks"
	"nanobot/terminal/keys"
)

// versionRunbook has every key of a challenge.
const versionRunbook = "# Deploy\n\n## Test\n\nRun them.\n\nPROOF OF WORK: timeout 9s true\n\n## Build\n\n" +
	"```json\n{\"challenge\": {\"type\": \"shell\", \"required\": false, \"shell\": {\"cmd\": \"true\", \"timeout_seconds\": 8}}}\n```\n\n## Approve\n\n" +
	"```json\n{\"challenge\": {\"type\": \"user_input\", \"user_input\": {\"prompt\": \"Deploy?\", \"approvals\": 1}}}\n```\n\n## Report\n\n" +
	"```json\n{\"challenge\": {\"type\": \"comment\", \"comment\": {\"min_length\": 5}}}\n```\n"

// versionResponses have every tag and field that a model may write, by the format.
var versionResponses = map[string]string{
	"blocks": "[CREATE_FILE path=\"a\"]\n1\n[/CREATE_FILE]\n[EDIT_FILE path=\"a\" start_line=\"1\" end_line=\"2\"]\n2\n[/EDIT_FILE]\n[READ_FILE path=\"a\"]\n" +
		"[DELETE_FILE path=\"a\"]\n[RUN_COMMAND]\nls\n[/RUN_COMMAND]\n[MESSAGE]\nhi\n[/MESSAGE]\n[DONE]\nbye\n[/DONE]\n",
	"json": `{"analysis": "a", "plan": "p", "commands": [{"keystrokes": "ls\n", "duration": 0.5}], "task_complete": true}`,
	"xml": "<response>\n<analysis>a</analysis><plan>p</plan><commands>\n<keystrokes duration=\"0.5\">ls\n</keystrokes>\n</commands>" +
		"<task_complete>true</task_complete>\n</response>",
}

// interfaceNames returns what is promised without a schema: the commands with their options and
// kinds of values, exit statuses, fields of outputs, metrics with labels, and what is read in a
// runbook and in the responses of models.
func (b *versionBot) interfaceNames(t *testing.T) (names []string) {
	t.Helper()
	names = slices.Concat(commandNames(), b.metricNames(t), b.outputNames(t))
	for name, status := range map[string]int{
		"failed": exit.Failed, "wrong usage": exit.Usage, "state lost": exit.Lost, "no lease": exit.NoLease, "bad config": exit.Config,
		"timeout": exit.Timeout, "not run": exit.NotRun, "interrupted": exit.Interrupted,
	} {
		names = append(names, fmt.Sprint("exit status ", status, " ", name))
	}
	for format, text := range versionResponses {
		parsed := any(blocks.Parse(text))
		if format != "blocks" {
			parsed, _ = keys.Parse(keys.Format(format), text)
		}
		names = append(names, outputFields("response "+format, string(musttest.Get(json.Marshal(parsed))(t)), true)...)
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func commandNames() (names []string) {
	var walk func(c *cobra.Command)
	walk = func(c *cobra.Command) {
		names = append(names, c.CommandPath())
		c.Flags().VisitAll(func(f *pflag.Flag) {
			names = append(names, strings.TrimRight(c.CommandPath()+" --"+f.Name+" "+f.Value.Type()+" "+f.Shorthand, " "))
		})
		for _, sub := range c.Commands() {
			if !sub.Hidden {
				walk(sub)
			}
		}
	}
	root, _ := newRoot(stdio{})
	walk(root)
	return names
}

// metricNames returns the metrics of the running daemon, and of a gateway that has seen an event of
// each kind.
func (b *versionBot) metricNames(t *testing.T) (names []string) {
	t.Helper()
	_, page := httpGet(t, "http://"+b.listen+"/metrics", httpHeaders{"Authorization": "Bearer " + webToken})
	m := metrics.New()
	for _, kind := range []events.Type{events.Ended, events.Sent, events.Dropped, events.Occurred} {
		m.Observe(events.Event{Type: kind, Origin: channels.ByAsk, Agent: "upper"})
	}
	m.CountCall("hook", "202")
	st := musttest.Get(sqlite.Open(t.Context(), t.TempDir(), sqlite.Options{}))(t)
	defer func() { musttest.Do(t, st.Close()) }()
	answer := httptest.NewRecorder()
	m.Handler(gateway.New(gateway.Options{Store: st, Log: zap.NewNop()})).ServeHTTP(answer, httptest.NewRequest(http.MethodGet, "/metrics", nil))
	page += answer.Body.String()
	for _, m := range regexp.MustCompile(`(?m)^# TYPE (\w+ \w+)$`).FindAllStringSubmatch(page, -1) {
		names = append(names, m[1])
	}
	for _, m := range regexp.MustCompile(`(?m)^(\w+)\{(.*)\} `).FindAllStringSubmatch(page, -1) {
		for _, label := range regexp.MustCompile(`(\w+)="`).FindAllStringSubmatch(m[2], -1) {
			names = append(names, m[1]+" "+label[1])
		}
	}
	return names
}

// outputNames returns the fields that commands print with --json.
func (b *versionBot) outputNames(t *testing.T) (names []string) {
	t.Helper()
	folder := filepath.Join(b.dir, "runbooks")
	musttest.Do(t, os.MkdirAll(folder, 0o755))
	musttest.Do(t, os.WriteFile(filepath.Join(folder, "deploy.md"), []byte(versionRunbook), 0o600))
	run := func(command string) string {
		cmd := programCommand(t, append(strings.Fields(command), "--json")...)
		cmd.Dir = b.dir
		cmd.Stdin = strings.NewReader("approve\nit is up\n")
		out, _ := cmd.Output() // some find mistakes
		fields := outputFields("nanobot "+command, string(out), strings.Contains(command, "check deploy"))
		if len(fields) == 0 {
			t.Errorf("nanobot %s prints no field: %s", command, out)
		}
		names = append(names, fields...)
		return string(out)
	}
	for _, command := range []string{
		"check-agent", "doctor --no-turn", "link --list", "routes --chat web:web-later hello", "run hello", "schedules", "usage", "runbook list", "runbook check deploy",
	} {
		run(command)
	}
	id := regexp.MustCompile(`"run":"([^"]+)"`).FindStringSubmatch(run("runbook run deploy"))
	if id == nil {
		t.Fatal("the runbook does not run")
	}
	verified := outputFields("nanobot runbook verify", run("runbook verify "+id[1]), false)
	names = slices.DeleteFunc(names, func(name string) bool { return strings.Contains(name, id[1]) })
	// These print more in states that this bot has not.
	members := musttest.Get(json.Marshal([]listedMember{{Receives: []string{""}, Labels: []string{""}}}))(t)
	proved := musttest.Get(json.Marshal(proof{Open: []openItem{{}}}))(t)
	return slices.Concat(names, verified, outputFields("nanobot members", string(members), false), outputFields("nanobot prove", string(proved), false))
}

// outputFields returns the paths of the fields in JSON values, with their kinds or values.
func outputFields(name, output string, withValues bool) (fields []string) {
	var walk func(path string, value any)
	walk = func(path string, value any) {
		switch value := value.(type) {
		case map[string]any:
			if kind, isText := value["kind"].(string); isText {
				path += " " + kind
			}
			for key, field := range value {
				walk(path+" ."+key, field)
			}
		case []any:
			for i, item := range value {
				if withValues {
					walk(fmt.Sprint(path, " ", i), item)
				} else {
					walk(path+"[]", item)
				}
			}
			if withValues && len(value) == 0 {
				fields = append(fields, path+" is empty")
			}
		case nil:
		default:
			if withValues {
				fields = append(fields, fmt.Sprintf("%s %q", path, fmt.Sprint(value)))
			} else {
				fields = append(fields, fmt.Sprintf("%s %T", path, value))
			}
		}
	}
	for decoder := json.NewDecoder(strings.NewReader(output)); ; {
		var value any
		if decoder.Decode(&value) != nil {
			return fields
		}
		walk(name, value)
	}
}
