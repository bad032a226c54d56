package acp_test

import (
	"encoding/base64"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/terminal"
)

func TestPicturesWithinMessagesNeedNoMediaRoot(t *testing.T) {
	t.Parallel()
	roots := t.TempDir()
	p := newFixture(t, "", func(c *config.Terminal) { c.MediaRoots = []string{roots} }).person("a")
	outside := filepath.Join(t.TempDir(), "outside.png")
	musttest.Do(t, os.WriteFile(outside, []byte("x"), 0o600))
	var got string
	p.onFrame = func(f terminal.Frame) {
		for _, file := range f.Checked {
			b, err := os.ReadFile(file.Path)
			got += fmt.Sprintf("%s %s %v|", filepath.Base(file.Path), b, err)
		}
	}
	content := `raw {"sessionUpdate":"agent_message_chunk","content":%s}` + "\n"
	h := p.send(fmt.Sprintf(content, `{"type":"image","mimeType":"image/png","data":"`+base64.StdEncoding.EncodeToString([]byte("picture"))+`"}`) +
		fmt.Sprintf(content, `{"type":"resource_link","name":"x","uri":"file://`+outside+`"}`))
	if text := h.text(terminal.Message); got != "image.png picture <nil>|" || !strings.Contains(text, "outside.png\" was not sent") || strings.Contains(text, "image.png") {
		t.Errorf("sent %q, said %q", got, text)
	}
}
