package main

import (
	"bytes"
	"encoding/json"
	"strings"
	"testing"

	"nanobot/terminal"
)

func TestTheDemoTellsOfCtrlCOnlyInATerminal(t *testing.T) {
	t.Parallel()
	for session, want := range map[string]string{"cli:local": "/stop or Ctrl-C)", "web:web-1": "/stop or the button)"} {
		var out bytes.Buffer
		d := demoAgent{out: json.NewEncoder(&out), envelope: terminal.Envelope{SessionKey: session, Text: "slow"}}
		if err := d.handleMessage(); err != nil || strings.Count(out.String(), want) != 60 {
			t.Errorf("in %s it says %.200s, %v", session, out.String(), err)
		}
	}
}
