package config_test

import (
	"encoding/json"
	"errors"
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
	"github.com/tailscale/hujson"

	"nanobot/config"
	"nanobot/internal/musttest"
)

var update = flag.Bool("update", false, "rewrite the golden files")

func TestEveryMistakeIsReportedWithItsPositionAndTheExpectedValue(t *testing.T) {
	t.Chdir("testdata/mistakes")
	cases, err := filepath.Glob("*.json")
	if err != nil || len(cases) == 0 {
		t.Fatal("no cases", err)
	}
	for _, file := range cases {
		t.Run(strings.TrimSuffix(file, ".json"), func(t *testing.T) {
			got := loadMistakes(t, file, nil).Error() + "\n"
			if strings.Contains(got, "secret") && !strings.Contains(file, "secret") {
				t.Errorf("shows a secret:\n%s", got)
			}
			golden := strings.TrimSuffix(file, ".json") + ".txt"
			if *update {
				musttest.Do(t, os.WriteFile(golden, []byte(got), 0o644))
			}
			want := musttest.Get(os.ReadFile(golden))(t)
			if got != string(want) {
				t.Errorf("got:\n%s\nwant:\n%s", got, want)
			}
		})
	}
}

func TestTheSchemaRejectsSchemaMistakesAndNoOthers(t *testing.T) {
	schema := compilePublishedSchema(t)
	cases, _ := filepath.Glob("testdata/mistakes/*.json")
	for _, file := range cases {
		kind, _, _ := strings.Cut(filepath.Base(file), "-")
		if kind == "syntax" {
			continue
		}
		err := schema.Validate(readStandardJSON(t, file))
		if rejected := err != nil; rejected != (kind == "schema") {
			t.Errorf("%s: the schema says %v", file, err)
		}
	}
}

func TestGoodConfigurationsLoadAndSatisfyTheSchema(t *testing.T) {
	files, _ := filepath.Glob("testdata/good/*.json")
	if len(files) == 0 {
		t.Fatal("no cases")
	}
	musttest.Do(t, filepath.WalkDir("../deploy/examples", func(path string, _ os.DirEntry, err error) error {
		if filepath.Base(path) == "config.json" {
			files = append(files, path)
		}
		if errors.Is(err, os.ErrNotExist) {
			return nil
		}
		return err
	}))
	schema := compilePublishedSchema(t)
	for _, file := range files {
		if err := schema.Validate(readStandardJSON(t, file)); err != nil {
			t.Errorf("%s: %v", file, err)
		}
		if _, err := config.Load(file, nil, extensions()); err != nil {
			t.Errorf("%s: %v", file, err)
		}
	}
}

// loadMistakes loads an invalid configuration and returns its mistakes.
func loadMistakes(t *testing.T, file string, environ []string) config.Mistakes {
	t.Helper()
	c, err := config.Load(file, environ, extensions())
	if err == nil {
		t.Fatalf("loaded without mistakes: %+v", c)
	}
	var mistakes config.Mistakes
	if !errors.As(err, &mistakes) || len(mistakes) == 0 {
		t.Fatalf("%T is not Mistakes: %v", err, err)
	}
	if c != nil {
		t.Error("a configuration came with the mistakes")
	}
	return mistakes
}

// compilePublishedSchema compiles the output of config.Schema as any other program would, which
// also validates it against the meta-schema.
func compilePublishedSchema(t testing.TB) *jsonschema.Schema {
	t.Helper()
	b := musttest.Get(config.Schema(extensions()))(t)
	doc := musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(b))))(t)
	c := jsonschema.NewCompiler()
	musttest.Do(t, c.AddResource("schema.json", doc))
	s := musttest.Get(c.Compile("schema.json"))(t)
	return s
}

// readStandardJSON reads a config file without the package under test.
func readStandardJSON(t *testing.T, file string) any {
	t.Helper()
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	b, err = hujson.Standardize([]byte(strings.TrimPrefix(string(b), "\ufeff") + "\n"))
	if err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	var v any
	if err := json.Unmarshal([]byte(strings.ReplaceAll(string(b), "1e999999999", "1e300")), &v); err != nil {
		t.Fatalf("%s: %v", file, err)
	}
	return v
}
