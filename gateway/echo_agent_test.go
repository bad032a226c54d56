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
	"nanobot/internal/musttest"
	"nanobot/terminal/plain"
)

// parrot is an agent of the plain protocol that repeats its input.
const parrot = `read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text"`

// writeMedia writes a file into the workspace.
func (fx *fixture) writeMedia(name, content string) string {
	fx.t.Helper()
	path := filepath.Join(fx.dir, name)
	musttest.Do(fx.t, os.MkdirAll(filepath.Dir(path), 0o700))
	musttest.Do(fx.t, os.WriteFile(path, []byte(content), 0o600))
	return path
}

// awaitTimestampPassed waits until files written from now on are clearly newer than a file.
func (fx *fixture) awaitTimestampPassed(path string) {
	fx.t.Helper()
	info := musttest.Get(os.Stat(path))(fx.t)
	for time.Since(info.ModTime()) < 50*time.Millisecond {
		time.Sleep(time.Millisecond)
	}
}

// sentFiles returns the names of the files that were sent to a chat.
func sentFiles(n *gatewaytest.Network, chat string) (names []string) {
	for _, c := range n.Sent(chat) {
		names = slices.AppendSeq(names, maps.Keys(c.Files))
	}
	return names
}

func TestAnEchoAgentSendsNoFilesThatAPersonNames(t *testing.T) {
	fx := newFixture(t, parrot)
	fx.protocol, fx.terminal.Protocol = plain.Protocol{}, "plain"
	fx.terminal.MediaRoots = []string{"/"}
	visitors := gatewaytest.NewNetwork()
	t.Cleanup(visitors.Close)
	fx.otherChannels = map[string]channels.Channel{"visitors": &gatewaytest.Channel{Name: "visitors", URL: visitors.URL}}
	fx.settings.AllowFrom["visitors"] = []string{"*"}
	photo, shared := fx.writeMedia("users/7/photo.png", "of chat 7"), fx.writeMedia("shared.png", "the operator's")
	fx.awaitTimestampPassed(shared)
	fx.start()
	for _, path := range []string{photo, shared} {
		fx.net.UserWrites("8", "u", path)
		fx.awaitText("8", path)
		visitors.UserWrites("web-1", "visitor", path)
		if _, ok := visitors.Await("web-1", testTimeout, func(c []gatewaytest.Call) bool { return len(c) > 0 && c[len(c)-1].Text == path }); !ok {
			t.Fatalf("the visitor was shown %q", texts(visitors.Sent("web-1")))
		}
	}
	fx.stop()
	if got := append(sentFiles(fx.net, "8"), sentFiles(visitors, "web-1")...); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}

func TestATextTypedDuringATurnIsNotSentAsAFileEither(t *testing.T) {
	fx := newFixture(t, `read -r envelope; touch begun; read -r line; text=${line#*\"text\":\"}; text=${text%%\"*}; echo "$text"`)
	fx.settings.WhileRunning = "inject"
	shared := fx.writeMedia("shared.png", "the operator's")
	fx.awaitTimestampPassed(shared)
	fx.start()
	fx.net.UserWrites("8", "u", "hello")
	fx.awaitFile("begun")
	fx.net.UserWrites("8", "u", shared)
	fx.awaitText("8", shared)
	fx.stop()
	if got := sentFiles(fx.net, "8"); len(got) > 0 {
		t.Errorf("sent %q", got)
	}
}
