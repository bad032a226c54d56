package main

import (
	"context"
	"encoding/json"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/cmd/nanobot/exit"
	"nanobot/gateway/store"
	"nanobot/gateway/store/sqlite"
	"nanobot/internal/httpd"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// linkCommand runs nanobot link beside the daemon, and returns what it prints and its exit status.
func (b *webBot) linkCommand(args ...string) (string, int) {
	b.t.Helper()
	cmd := programCommand(b.t, append([]string{"link", "--config", b.cfg}, args...)...)
	out, _ := cmd.CombinedOutput()
	return string(out), cmd.ProcessState.ExitCode()
}

func (b *webBot) grants() (all []httpd.Grant) {
	b.t.Helper()
	out, status := b.linkCommand("--list", "--json")
	if err := json.Unmarshal([]byte(out), &all); err != nil || status != 0 {
		b.t.Fatalf("--list --json prints %s, %v, status %d", out, err, status)
	}
	return all
}

func TestABrowserIsListedAndSignedOutWhileItsPageIsOpen(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	if out, status := b.linkCommand("--list"); status != 0 || out != "Nobody is signed in, and there is no unused link.\n" {
		t.Errorf("at first it says %q, status %d", out, status)
	}
	ann, bob := b.signIn("--user", "ann"), b.signIn("--user", "bob")
	b.link("--role", "operator")
	bob.openEventStream()
	all := b.grants()
	if len(all) != 3 || all[0].User != "ann" || all[0].Kind != "browser" || all[2].Kind != "link" || all[2].Role != httpd.Operator {
		t.Fatalf("listed are %+v", all)
	}
	out, _ := b.linkCommand("--list")
	if lines := strings.Split(out, "\n"); len(lines) != 5 || !strings.HasPrefix(lines[0], "ID ") || !strings.HasPrefix(lines[1], all[0].ID+"  browser  ann") {
		t.Errorf("the list is\n%s", out)
	}
	// Her page is open.
	ctx, cancel := context.WithTimeout(t.Context(), waitTimeout)
	defer cancel()
	req, _ := http.NewRequestWithContext(ctx, http.MethodGet, "http://"+b.listen+"/api/events", nil)
	stream, err := ann.Do(req)
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Body.Close()
	if out, status := b.linkCommand("--revoke", all[0].ID); status != 0 || out != "Signed out ann's browser "+all[0].ID+".\n" {
		t.Errorf("--revoke says %q, status %d", out, status)
	}
	for buffer := make([]byte, 4096); err == nil; {
		_, err = stream.Body.Read(buffer)
	}
	if ctx.Err() != nil {
		t.Error("her page goes on")
	}
	signedOut := func(when string) {
		t.Helper()
		if status, body := ann.request("GET", "/api/chats", "", nil); status != http.StatusUnauthorized || !strings.Contains(body, "You are signed out. Ask the bot's operator for a new link.") {
			t.Errorf("%s she is answered %d %s", when, status, body)
		}
		if status, body := bob.request("GET", "/api/chats", "", nil); status != http.StatusOK {
			t.Errorf("%s he is answered %d %s", when, status, body)
		}
	}
	signedOut("at once")
	b.kill()
	b.start()
	signedOut("after kill -9")
	if out, status := b.linkCommand("--revoke", all[0].ID); status != exit.Failed || !strings.Contains(out, "see nanobot link --list") {
		t.Errorf("again --revoke says %q, status %d", out, status)
	}
	log, err := os.ReadFile(filepath.Join(filepath.Dir(b.cfg), ".nanobot", "audit.jsonl"))
	if err != nil || !strings.Contains(string(log), `"web"`) {
		t.Errorf("the audit log has %s, %v", log, err)
	}
}

func TestBrowsersAndLinksAreRevokedWhileTheDaemonIsDown(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	ann := b.signIn("--user", "ann")
	link := b.link("--user", "ann")
	b.kill()
	if all := b.grants(); len(all) != 2 {
		t.Errorf("listed are %+v", all)
	}
	if out, status := b.linkCommand("--revoke", "ann"); status != 0 || strings.Count(out, "\n") != 2 || !strings.Contains(out, "Revoked ann's link ") || !strings.Contains(out, "Signed out ann's browser") {
		t.Errorf("--revoke says %q, status %d", out, status)
	}
	b.start()
	if status, _ := ann.request("GET", "/api/chats", "", nil); status != http.StatusUnauthorized {
		t.Errorf("she is answered %d", status)
	}
	if status, _ := ann.request("POST", strings.TrimPrefix(link, "http://"+b.listen), "", nil); status != http.StatusNotFound {
		t.Errorf("her link is answered %d", status)
	}
	for _, wrong := range [][]string{{"--list", "--revoke", "x"}, {"--list", "--user", "ann"}, {"--revoke", "x", "--role", "chat"}, {"--json"}} {
		if out, status := b.linkCommand(wrong...); status != exit.Usage {
			t.Errorf("%v: status %d, %s", wrong, status, out)
		}
	}
}

func TestAUserWithoutABrowserLosesRunningAndWaitingTurns(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	write := func(who *browser, chat string) {
		who.sendMessage(chat, "slow")
		who.sendMessage(chat, "after")
	}
	// outcomes are the ends of a chat's turns, the newest first.
	outcomes := func(user string) (ends []string) {
		t.Helper()
		s := b.openState()
		defer func() { musttest.Do(t, s.Close()) }()
		inbounds := musttest.Get(s.Recent(t.Context(), channels.Chat{Channel: "web", ID: "web-" + user + "-known-to-nobody-else"}, 9))(t)
		for _, i := range inbounds {
			ends = append(ends, string(i.State)+" "+i.Outcome.Status)
		}
		return ends
	}
	ann, phone, bob := b.signIn("--user", "ann"), b.signIn("--user", "ann"), b.signIn("--user", "bob")
	operator := b.signIn("--role", "operator")
	write(ann, "web-ann-known-to-nobody-else")
	write(bob, "web-bob-known-to-nobody-else")
	write(operator, "web-operator-known-to-nobody-else")
	for _, user := range []string{"ann", "bob", "operator"} {
		b.awaitQueued(outcomes, user)
	}
	revoke := func(who string) {
		t.Helper()
		if out, status := b.linkCommand("--revoke", who); status != 0 {
			t.Fatalf("--revoke %s: status %d, %s", who, status, out)
		}
	}
	busy := []string{"pending ", "running "}
	first := b.grants()[0]
	if first.User != "ann" {
		t.Fatalf("%+v", first)
	}
	revoke(first.ID)
	wanttest.EqualSlices(t, "she has another browser, and her turns are", outcomes("ann"), busy)
	revoke(b.grants()[0].ID)
	wanttest.EqualSlices(t, "her turns are", outcomes("ann"), []string{"dead revoked", "done revoked"})
	if status, _ := phone.request("GET", "/api/chats", "", nil); status != http.StatusUnauthorized {
		t.Errorf("her phone is answered %d", status)
	}
	revoke("operator") // for whom the token still speaks
	for _, user := range []string{"bob", "operator"} {
		if got := outcomes(user); !slices.Equal(got, busy) {
			t.Errorf("the turns of %s are %q", user, got)
		}
	}
}

func TestEverybodyLosesRunningAndWaitingTurns(t *testing.T) {
	t.Parallel()
	b := newWebBot(t)
	users := []string{"ann", "bob"}
	for _, user := range users {
		b.signIn("--user", user).sendMessage("web-"+user+"-known-to-nobody-else", "slow")
		b.linkCommand("--user", user)
	}
	if out, status := b.linkCommand("--revoke", "*"); status != 0 || strings.Count(out, "\n") != 4 {
		t.Fatalf("status %d, %s", status, out)
	}
	s := b.openState()
	defer func() { musttest.Do(t, s.Close()) }()
	for _, user := range users {
		turns := musttest.Get(s.Recent(t.Context(), channels.Chat{Channel: "web", ID: "web-" + user + "-known-to-nobody-else"}, 9))(t)
		if len(turns) != 1 || turns[0].Outcome.Status != store.Revoked {
			t.Errorf("the turns of %s are %+v", user, turns)
		}
	}
}

// openState opens the state beside the daemon.
func (b *webBot) openState() store.Store {
	b.t.Helper()
	s := musttest.Get(sqlite.Open(b.t.Context(), filepath.Join(filepath.Dir(b.cfg), ".nanobot"), sqlite.Options{Shared: true}))(b.t)
	return s
}

// awaitQueued waits until a user has a turn that runs and one that waits.
func (b *webBot) awaitQueued(outcomes func(string) []string, user string) {
	b.t.Helper()
	for deadline := time.Now().Add(2 * time.Minute); ; time.Sleep(10 * time.Millisecond) {
		got := outcomes(user)
		if slices.Equal(got, []string{"pending ", "running "}) {
			return
		}
		if time.Now().After(deadline) {
			b.t.Fatalf("the turns of %s are %q", user, got)
		}
	}
}
