package discord_test

import (
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/bwmarrin/discordgo"
)

// This is why files are streamed by us: several uploads of 25 MB at the same time would be more
// memory than all the rest of the daemon.
func TestTheLibraryReadsAFileIntoMemoryBeforeItConnects(t *testing.T) {
	content := strings.NewReader(strings.Repeat("x", 1<<20))
	left := -1
	d := offline(t, func(req *http.Request) (*http.Response, error) {
		left = content.Len() // nobody has asked for the body of the request yet
		_, _ = io.Copy(io.Discard, req.Body)
		return ok(req, nil), nil
	})
	message := &discordgo.MessageSend{Files: []*discordgo.File{{Name: "a.bin", Reader: content}}}
	if _, err := d.ChannelMessageSendComplex("1", message); err != nil || left != 0 {
		t.Errorf("%d bytes of the file are not read when the request begins (%v)", left, err)
	}
}
