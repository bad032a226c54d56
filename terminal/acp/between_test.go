package acp_test

import (
	"os"
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestStopBetweenTurnsEndsWhatWasLeftRunning(t *testing.T) {
	d := newDesk(t, "", unasked)
	p, other := d.person("a"), d.person("b")
	file, others := p.file("pid"), p.file("others")
	leave := func(file string) string {
		return "embed x echo $$ > " + file + ".new; mv " + file + ".new " + file + "; exec sleep 600\nuntil " + file
	}
	p.says(leave(file))
	other.says(leave(others))
	if n := d.runner.Stop("cli:a"); n != 1 {
		t.Errorf("%d were stopped", n)
	}
	eventually(t, "it is dead", func() bool { return !alive(pidIn(t, file)) })
	if !alive(pidIn(t, others)) {
		t.Error("another chat's was stopped")
	}
	if n := d.runner.Stop("cli:a") + d.runner.Stop("cli:nobody"); n != 0 {
		t.Errorf("%d more were stopped", n)
	}
	p.says("run echo again").is(terminal.Done, "again\n(exit 0)")
}

func TestNoCommandIsStartedBetweenTurns(t *testing.T) {
	d := scripted(t, hello+done+`
say '{"jsonrpc":"2.0","id":"c","method":"terminal/create","params":{"sessionId":"s","command":"touch ran"}}'
hear; touch answered; hear`)
	d.person("a").says("hello")
	eventually(t, "it is answered", func() bool { return pathExists(d.file("answered")) })
	if said := d.said(); !strings.Contains(said, "only while a prompt is worked on") || pathExists(d.file("ran")) {
		t.Errorf("answered %s", said)
	}
}

func pathExists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
