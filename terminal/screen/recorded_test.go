package screen_test

import (
	"compress/gzip"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// recordings returns what programs have written to a terminal of 80×24, by the program's name.
func recordings(t testing.TB) map[string][]byte {
	t.Helper()
	files, err := filepath.Glob("testdata/*.gz")
	if err != nil || len(files) == 0 {
		t.Fatalf("no recordings: %v", err)
	}
	all := map[string][]byte{}
	for _, file := range files {
		f := musttest.Get(os.Open(file))(t)
		defer f.Close()
		z := musttest.Get(gzip.NewReader(f))(t)
		data := musttest.Get(io.ReadAll(z))(t)
		all[strings.TrimSuffix(filepath.Base(file), ".gz")] = data
	}
	return all
}

func TestProgramsLookAsInTmux(t *testing.T) {
	o := newOracle(t)
	for name, data := range recordings(t) {
		p := o.pane(80, 24)
		const parts = 12
		for i := range parts {
			from, to := len(data)*i/parts, len(data)*(i+1)/parts
			if d := p.write(data[from:to]); d != "" {
				t.Errorf("%s, bytes %d to %d of %d: %s", name, from, to, len(data), d)
				break
			}
		}
	}
}
