package gateway_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"nanobot/channels"
	"nanobot/gateway/gatewaytest"
	"nanobot/terminal/plain"
)

// parrot is an agent of the plain protocol that repeats what it is told.
const parrot = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text"`

// put writes a file into the workspace.
func (r *rig) put(name, content string) string {
	r.t.Helper()
	path := filepath.Join(r.dir, name)
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		r.t.Fatal(err)
	}
	if err := os.WriteFile(path, []byte(content), 0o600); err != nil {
		r.t.Fatal(err)
	}
	return path
}

// awaitOlder waits until what is written from now on is clearly newer than a file.
func (r *rig) awaitOlder(path string) {
	r.t.Helper()
	info, err := os.Stat(path)
	if err != nil {
		r.t.Fatal(err)
	}
	for time.Since(info.ModTime()) < 50*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
}

// files are those that a chat was sent.
func files(n *gatewaytest.Network, chat string) (names []string) {
	for _, c := range n.Sent(chat) {
		names = slices.AppendSeq(names, maps.Keys(c.Files))
	}
	return names
}

func TestAnEchoAgentSendsNobodyWhatTheyType(t *testing.T) {
	r := newRig(t, parrot)
	r.protocol, r.terminal.Protocol = plain.Protocol{}, "plain"
	r.terminal.MediaRoots = []string{"/"}
	guests := gatewaytest.NewNetwork()
	t.Cleanup(guests.Close)
	r.also = map[string]channels.Channel{"guests": &gatewaytest.Channel{Name: "guests", URL: guests.URL}}
	r.settings.AllowFrom["guests"] = []string{"*"}
	photo, shared := r.put("users/7/photo.png", "of chat 7"), r.put("shared.png", "the operator's")
	r.awaitOlder(shared)
	r.start()
	for _, path := range []string{photo, shared} {
		r.net.UserWrites("8", "u", path)
		r.awaitText("8", path)
		guests.UserWrites("web-1", "guest", path)
		if _, ok := guests.Await("web-1", patience, func(c []gatewaytest.Call) bool { return len(c) > 0 && c[len(c)-1].Text == path }); !ok {
			t.Fatalf("the guest was shown %q", texts(guests.Sent("web-1")))
		}
	}
	r.stop()
	if got := append(files(r.net, "8"), files(guests, "web-1")...); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

func TestWhatIsTypedDuringATurnIsNoFoundPathEither(t *testing.T) {
	r := newRig(t, `read -r envelope; touch begun; read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text"`)
	r.settings.WhileRunning = "inject"
	shared := r.put("shared.png", "the operator's")
	r.awaitOlder(shared)
	r.start()
	r.net.UserWrites("8", "u", "hello")
	r.awaitFile("begun")
	r.net.UserWrites("8", "u", shared)
	r.awaitText("8", shared)
	r.stop()
	if got := files(r.net, "8"); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}
