package main

import (
	"bytes"
	"errors"
	"os"
	"path/filepath"
	"testing"

	"nanobot/cmd/nanobot/exit"
	"nanobot/config"
	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
	"nanobot/terminal"
)

func TestAWrongOutputIsPrintedAndFails(t *testing.T) {
	var out bytes.Buffer
	err := printParsed(&out, map[string]string{"error": "<a> is missing"}, false)
	var status exit.Error
	if !errors.As(err, &status) || status.Status != exit.Failed || status.Err != nil {
		t.Errorf("%v", err)
	}
	wanttest.Equal(t, "printed", out.String(), `{"error":"<a> is missing"}`+"\n")
}

func TestTheFormatOfAnOutputIsOneOfItsProtocol(t *testing.T) {
	p := terminal.Description{
		Protocol: config.Protocol{Name: "example"}, Parser: terminal.Parser{Formats: []string{"auto", "json"}},
	}
	for format, want := range map[string]string{"": "auto", "auto": "auto", "json": "json"} {
		if got, err := chooseFormat(p, format); got != want || err != nil {
			t.Errorf("%q: %q, %v", format, got, err)
		}
	}
	const refusal = `--format: must be one of auto, json (got "JSON")`
	if _, err := chooseFormat(p, "JSON"); err == nil || err.Error() != refusal {
		t.Error(err)
	}
}

func TestAnOutputThatIsTooLongIsRefused(t *testing.T) {
	t.Parallel()
	file := filepath.Join(t.TempDir(), "output")
	musttest.Do(t, os.WriteFile(file, nil, 0o600))
	musttest.Do(t, os.Truncate(file, maxParsed+1))
	if _, err := readOutput([]string{file}, nil); err == nil || err.Error() != "read output from "+file+": it is larger than 64 MiB" {
		t.Error(err)
	}
}
