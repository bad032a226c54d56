package gateway_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"nanobot/gateway"
	"nanobot/gateway/console"
	"nanobot/gateway/store"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

// request makes a request to the console of a member.
func (m *member) request(method, path string, into any) int {
	m.t.Helper()
	req := musttest.Get(http.NewRequestWithContext(m.t.Context(), method, m.console.URL+path, nil))(m.t)
	res := musttest.Get(m.client.Do(req))(m.t)
	defer res.Body.Close()
	musttest.Do(m.t, json.NewDecoder(res.Body).Decode(into))
	return res.StatusCode
}

const stays = `read -r line; echo '{"type":"progress","text":"thinking"}'; echo '{"type":"message","text":"begun"}'; while read -r line; do :; done; sleep 600`

func TestTheStatusNamesTheMemberThatRunsTheTurn(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	b.net.Languages = map[string]string{"u": "de"}
	b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	b.write("1", "/status")
	b.await("1", ` auf host\-b: work`)
}

func TestTheConsoleNamesTheMemberOfATurnAndWhereItsTraceIs(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	leader, worker := b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	path := fmt.Sprint("/api/turns/", worker.turn("1").ID)
	var here, there console.Detail
	leader.request("GET", path, &here)
	wanttest.Equal(t, "the member", here.Member, "host-b")
	wanttest.Equal(t, "the trace is elsewhere", here.Elsewhere, true)
	worker.request("GET", path, &there)
	wanttest.Equal(t, "at the member itself, the trace is elsewhere", there.Elsewhere, false)
	wanttest.Equal(t, "its frames", len(there.Frames) > 0, true)
	var health gateway.Health
	leader.request("GET", "/api/health", &health)
	wanttest.Equal(t, "the running turns of all members", health.Running, 1)
	b.write("1", "/stop")
	leader.awaitEnd("1")
	var ended console.Detail
	leader.request("GET", path, &ended)
	wanttest.Equal(t, "the trace of the ended turn is elsewhere", ended.Elsewhere, false)
	wanttest.Equal(t, "the member of the ended turn", ended.Member, "")
	wanttest.EqualSlices(t, "its frames", ended.Frames[:1], there.Frames[:1])
}

func TestTheConsoleShowsTheTurnsOfOtherMembersAsTheyChange(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	leader, _ := b.startPair()
	has := func(turn string) func() bool {
		return func() bool { _, ok := leader.published.Load(turn); return ok }
	}
	b.write("1", "work")
	b.await("1", "begun")
	b.awaitTrue("the start", has("running work host-b"))
	b.write("1", "/stop")
	b.awaitTrue("the end", has("done work "))
}

func TestTheConsoleStopsAndRepeatsTheTurnOfAnotherMember(t *testing.T) {
	t.Parallel()
	b := newSharedBot(t, stays)
	leader, worker := b.startPair()
	b.write("1", "work")
	b.await("1", "begun")
	path := fmt.Sprint("/api/turns/", worker.turn("1").ID)
	var answer struct{ Error string }
	wanttest.Equal(t, "the retry of a running turn", leader.request("POST", path+"/retry", &answer), http.StatusConflict)
	wanttest.Equal(t, "the stop", leader.request("POST", path+"/stop", &answer), http.StatusAccepted)
	wanttest.Equal(t, "how the turn ended", leader.awaitEnd("1").Outcome.Status, string(terminal.Stopped))
	b.await("1", "Stopped.")
	wanttest.Equal(t, "the stop of an ended turn", leader.request("POST", path+"/stop", &answer), http.StatusConflict)
	wanttest.Equal(t, "the retry", leader.request("POST", path+"/retry", &answer), http.StatusAccepted)
	worker.awaitRunning("1")
	wanttest.Equal(t, "the second stop", leader.request("POST", path+"/stop", &answer), http.StatusAccepted)
	wanttest.Equal(t, "how the second attempt ended", leader.awaitEnd("1").State, store.Done)
}
