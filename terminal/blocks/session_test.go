package blocks_test

import (
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
	"nanobot/terminal"
)

// session is a session file.
type session struct {
	SessionID      string
	Task           string
	SequenceNumber int
	IsComplete     bool
	CreatedAt      time.Time
	LastResults    []struct {
		CommandType, Summary, Output string
		Success                      bool
	}
	ReadFileRequests []string
	Response         string
}

// sessions reads the session files, the newest first.
func (r *fixture) sessions() (all []session) {
	r.t.Helper()
	names, _ := filepath.Glob(r.folder("sessions", "*.json"))
	for _, name := range names {
		raw, err := os.ReadFile(name)
		var s session
		if err == nil {
			err = json.Unmarshal(raw, &s)
		}
		if err != nil {
			r.t.Fatal(err)
		}
		all = append(all, s)
	}
	slices.SortFunc(all, func(a, b session) int { return b.CreatedAt.Compare(a.CreatedAt) })
	return all
}

// session reads the only session file.
func (r *fixture) session() session {
	r.t.Helper()
	all := r.sessions()
	if len(all) != 1 {
		r.t.Fatalf("there are %d sessions", len(all))
	}
	return all[0]
}

// fields are the fields of a session file, by the names that they have there.
type fields map[string]any

// createUnfinishedSession creates the files that a killed gateway leaves: the model has got outbox
// 1. more replaces fields of the session file.
func (r *fixture) createUnfinishedSession(id string, more fields) {
	r.t.Helper()
	s := fields{
		"sessionId": id, "task": "task of " + id, "sequenceNumber": 1, "isComplete": false, "createdAt": "2026-01-02T03:04:05Z", "updatedAt": "2026-01-02T03:04:05Z",
		"lastResults": []fields{}, "readFileRequests": []string{}, "run": "run of " + id,
	}
	maps.Copy(s, more)
	raw := musttest.Get(json.Marshal(s))(r.t)
	r.putFile(r.folder("sessions", id+".json"), string(raw))
	r.putFile(r.folder("outbox", roundName(id, s["sequenceNumber"])), "left behind by "+id)
}

// roundName returns the name of the files of a round below 10000.
func roundName(id string, sequence any) string { return fmt.Sprintf("%s_seq%04d.txt", id, sequence) }

// readSessionFile reads a file of the chat's folder of sessions.
func (r *fixture) readSessionFile(parts ...string) string {
	r.t.Helper()
	rel := musttest.Get(filepath.Rel(r.workspace, r.folder(parts...)))(r.t)
	return r.readFile(rel)
}

// sessionFields returns the JSON fields of the only session file.
func (r *fixture) sessionFields() fields {
	r.t.Helper()
	var f fields
	musttest.Do(r.t, json.Unmarshal([]byte(r.readSessionFile("sessions", r.session().SessionID+".json")), &f))
	return f
}

func TestASessionFileHasTheFieldsOfTheSpecification(t *testing.T) {
	r := newFixture(t, "[READ_FILE path=\"a\"]\n[READ_FILE path=\"none\"]\n[RUN_COMMAND]\necho out\n[/RUN_COMMAND]")
	r.putFile("a", "one")
	r.putFile(filepath.Join(r.model, "then"), "crash")
	began := time.Now()
	checkEqual(t, "status", r.runTurn(t.Context(), "two\n<lines> & more").Status, terminal.Failed)
	check := func(complete bool) {
		t.Helper()
		s := r.sessionFields()
		got := musttest.Get(json.Marshal(fields{
			"task": s["task"], "sequenceNumber": s["sequenceNumber"], "isComplete": s["isComplete"], "lastResults": s["lastResults"], "readFileRequests": s["readFileRequests"],
		}))(t)
		results, reads := `[{"commandType":"READ_FILE","output":"","success":true,"summary":"Queued 'a' for next outbox"},`+
			`{"commandType":"READ_FILE","output":"","success":false,"summary":"File 'none' not found"},`+
			`{"commandType":"RUN_COMMAND","output":"out\n","success":true,"summary":"Ran 'echo out' (exit code 0)"}]`, `["a"]`
		if complete {
			results, reads = `[{"commandType":"DONE","output":"","success":true,"summary":"All done."}]`, `[]`
		}
		checkEqual(t, "fields", string(got), fmt.Sprintf(`{"isComplete":%t,"lastResults":%s,"readFileRequests":%s,"sequenceNumber":2,"task":"two\n\u003clines\u003e \u0026 more"}`, complete, results, reads))
		id, _ := s["sessionId"].(string)
		if strings.Trim(id, "0123456789abcdef") != "" || len(id) != 8 || id != r.session().SessionID {
			t.Errorf("sessionId %v", s["sessionId"])
		}
		created, updated := parseUTC(t, s["createdAt"]), parseUTC(t, s["updatedAt"])
		if created.Before(began) || updated.Before(created) || updated.After(time.Now()) {
			t.Errorf("%v, %v", created, updated)
		}
	}
	check(false)
	r.script("", doneBlock)
	r.runNextMessage("/resume")
	check(true)
}

// parseUTC parses a time, which must be in UTC and in the form of RFC 3339.
func parseUTC(t *testing.T, value any) time.Time {
	t.Helper()
	text, _ := value.(string)
	at, err := time.Parse(time.RFC3339Nano, text)
	if err != nil || !strings.HasSuffix(text, "Z") {
		t.Errorf("%v is no time in UTC: %v", value, err)
	}
	return at
}

func TestRoundsFrom10000OnHaveFiveDigits(t *testing.T) {
	r := newFixture(t, "[CREATE_FILE path=\"a\"]\none\n[/CREATE_FILE]", doneBlock)
	const id = "0000000a"
	r.createUnfinishedSession(id, fields{"sequenceNumber": 9999})
	r.runNextMessage("/resume")
	checkEqual(t, "sequence", r.session().SequenceNumber, 10000)
	checkContains(t, r.readSessionFile("outbox", id+"_seq10000.txt"), "Sequence: 10000\n")
	checkEqual(t, "processed", r.readSessionFile("inbox", "processed", id+"_seq10000.txt"), doneBlock)
	checkContains(t, r.readSessionFile("inbox", "processed", id+"_seq9999.txt"), "[CREATE_FILE")
	checkEqual(t, "what the model was given", r.outboxes()[0], "left behind by "+id)
}

func TestTheNewestUnfinishedSessionIsResumed(t *testing.T) {
	r := newFixture(t, doneBlock)
	for id, more := range map[string]fields{
		"0000000a": {"createdAt": "2026-01-04T00:00:00Z"},
		"0000000b": {"createdAt": "2026-01-05T00:00:00Z", "isComplete": true},
		"0000000c": {"createdAt": "2026-01-02T00:00:00Z", "updatedAt": "2026-01-06T00:00:00Z"},
		"ffffffff": {"createdAt": "2026-01-03T00:00:00Z"},
	} {
		r.createUnfinishedSession(id, more)
	}
	var order []string
	for range 3 {
		r.script("", doneBlock)
		r.runNextMessage("/resume")
		order = append(order, strings.TrimPrefix(r.outboxes()[0], "left behind by "))
	}
	checkEqual(t, "order", strings.Join(order, " "), "0000000a ffffffff 0000000c")
	for _, s := range r.sessions() {
		checkEqual(t, s.SessionID+" is complete", s.IsComplete, true)
	}
}
