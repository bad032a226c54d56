package main

import (
	"archive/zip"
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"nanobot/internal/musttest"
)

// versionConfig sets keys of every section, as an operator of the version would.
const versionConfig = `{
	"workspace": ".",
	"terminal": {
		"command": "sh agent.sh", "protocol": "rich", "interactive": true, "timeout": 600, "progress": "edit",
		"stderr": "onError", "env": {"GREETING": "hello"}, "passMedia": true, "maxLine": 1048576,
	},
	"agents": {"upper": {"command": "tr a-z A-Z", "protocol": "plain", "stdin": "text", "format": "text"}},
	"routes": [{"match": {"command": "upper"}, "agent": "upper"}],
	"roles": {"guest": ["web:guest"], "approver": ["web:ann"]},
	"schedules": {"later": {"at": "2199-01-01T09:00:00Z", "chat": "web:web-later", "text": "Happy new year!"}},
	"quotas": [{"per": "user", "turns": 1000}],
	"channels": {
		"web": {"enabled": true, "maxUpload": 5, "name": "Ada"},
		"telegram": {"enabled": false, "token": "file:telegram.token", "allowFrom": ["7"]},
		"discord": {"enabled": false, "token": "file:discord.token", "allowFrom": ["8"]},
	},
	"http": {"listen": "127.0.0.1:1", "hosts": ["bot.example.com"], "token": "file:token"},
	"gateway": {
		"stateDir": "state", "onCrash": "retry", "delivery": "atLeastOnce", "maxConcurrent": 4, "queueLimit": 5,
		"language": "en", "keep": {"messages": 400}, "record": "cassettes",
	},
}`

const versionAgent = `read -r line; text=${line#*'"text":"'}; text=${text%%'"'*}
case $text in
ask) echo '{"type":"ask","id":"q1","text":"Which one?","options":["Red","Blue"]}'
	read -r answer; answer=${answer#*'"text":"'}; echo "{\"type\":\"message\",\"text\":\"you chose ${answer%%'"'*}\"}";;
*) echo "{\"type\":\"message\",\"text\":\"$GREETING, re $text\"}";;
esac
`

// versionPromises are the descriptions from which nothing may disappear, by their file in the
// archive of a version.
var versionPromises = map[string][]string{"config.schema.json": {"schema"}, "rich.schema.json": {"schema", "--protocol", "rich"}}

// TestEveryNamedVersionUpgrades opens the workspace that the daemon of each version in the
// changelog has left when it was killed: its config is accepted, its question is answered, its
// conversation goes on, its cassette replays, and all that the changelog promises still exists.
// Before a version is named, -update makes its archive.
func TestEveryNamedVersionUpgrades(t *testing.T) {
	t.Parallel()
	changes := musttest.Get(os.ReadFile(filepath.Join("..", "..", "CHANGELOG.md")))(t)
	named := regexp.MustCompile(`(?m)^## (v\d\S+)`).FindAllStringSubmatch(string(changes), -1)
	if len(named) == 0 {
		t.Fatal("the changelog names no version")
	}
	for i, m := range named {
		t.Run(m[1], func(t *testing.T) {
			t.Parallel()
			path := filepath.Join("testdata", "versions", m[1]+".zip")
			if _, err := os.Stat(path); os.IsNotExist(err) && *update && i == 0 {
				makeVersion(t, path)
			}
			upgradeFrom(t, path)
		})
	}
}

func upgradeFrom(t *testing.T, path string) {
	t.Helper()
	b := newVersionBot(t)
	archive, err := zip.OpenReader(path)
	if err != nil {
		t.Fatalf("%v; -update makes it for the newest version", err)
	}
	defer archive.Close()
	musttest.Do(t, os.CopyFS(b.dir, archive))
	b.makePrivate()
	b.listenHere()
	db := openDatabase(t, filepath.Join(b.dir, "state", gatewayDatabase))
	execSQL(t, db, "UPDATE question SET expires = ?", time.Now().Add(time.Hour).UnixMicro())
	musttest.Do(t, db.Close())

	if out := b.beside("check-config"); !strings.HasSuffix(out, ": ok\n") {
		t.Errorf("check-config of its config prints %s", out)
	}
	b.webBot.start()
	ann := b.signIn("--user", "ann")
	b.chooseBlue(ann)
	b.awaitChat(ann, "user: hello", "bot: hello, re hello", "user: ask", "bot: Which one?", "bot: you chose Blue")
	ann.sendMessage(webChat, "/upper after the upgrade")
	b.awaitChat(ann, "user: hello", "bot: hello, re hello", "user: ask", "bot: Which one?", "bot: you chose Blue",
		"user: /upper after the upgrade", "bot: AFTER THE UPGRADE")

	recorded := b.recordedHello()
	if out := b.beside("replay", recorded); !strings.HasPrefix(out, "ok ") {
		t.Errorf("its cassette is replayed with\n%s", out)
	}
	for file, args := range versionPromises {
		expectPromises(t, file, musttest.Get(os.ReadFile(filepath.Join(b.dir, file)))(t), musttest.Get(programCommand(t, args...).Output())(t))
	}
	now := b.interfaceNames(t)
	for name := range strings.Lines(b.file("interface.txt") + "\n") {
		if !slices.Contains(now, strings.TrimSpace(name)) {
			t.Errorf("%q is promised and does not exist any more", strings.TrimSpace(name))
		}
	}
	_, api := ann.request("GET", "/api/openapi.json", "", nil)
	expectPromises(t, "openapi.json", musttest.Get(os.ReadFile(filepath.Join(b.dir, "openapi.json")))(t), []byte(api))
}

func newVersionBot(t *testing.T) *versionBot {
	b := &versionBot{earlierBot{dir: t.TempDir()}}
	b.webBot = webBot{t: t, listen: freeAddress(t), cfg: filepath.Join(b.dir, "config.json")}
	return b
}

// versionBot is a bot of a named version.
type versionBot struct{ earlierBot }

// listenHere gives the config a free address.
func (b *versionBot) listenHere() {
	b.t.Helper()
	content := musttest.Get(os.ReadFile(b.cfg))(b.t)
	musttest.Do(b.t, os.WriteFile(b.cfg, bytes.Replace(content, []byte("127.0.0.1:1"), []byte(b.listen), 1), 0o600))
}

// recordedHello returns the cassette of the first turn.
func (b *versionBot) recordedHello() string {
	b.t.Helper()
	recorded, _ := filepath.Glob(filepath.Join(b.dir, "state", "cassettes", "*.nbt.jsonl"))
	for _, path := range recorded {
		if content, err := os.ReadFile(path); err == nil && bytes.Contains(content, []byte("re hello")) {
			return path
		}
	}
	b.t.Fatalf("none of %q is the cassette of the first turn", recorded)
	return ""
}

// makeVersion makes the archive of the version that this code is.
func makeVersion(t *testing.T, path string) {
	t.Helper()
	b := newVersionBot(t)
	for name, content := range map[string]string{"config.json": versionConfig, "agent.sh": versionAgent, "token": webToken} {
		musttest.Do(t, os.WriteFile(filepath.Join(b.dir, name), []byte(content), 0o600))
	}
	for file, args := range versionPromises {
		musttest.Do(t, os.WriteFile(filepath.Join(b.dir, file), musttest.Get(programCommand(t, args...).Output())(t), 0o600))
	}
	b.listenHere()
	b.webBot.start()
	ann := b.signIn("--user", "ann")
	_, api := ann.request("GET", "/api/openapi.json", "", nil)
	musttest.Do(t, os.WriteFile(filepath.Join(b.dir, "openapi.json"), []byte(api), 0o600))
	ann.sendMessage(webChat, "hello")
	b.awaitChat(ann, "user: hello", "bot: hello, re hello")
	ann.sendMessage(webChat, "ask")
	b.awaitChat(ann, "user: hello", "bot: hello, re hello", "user: ask", "bot: Which one?")
	musttest.Do(t, os.WriteFile(filepath.Join(b.dir, "interface.txt"), []byte(strings.Join(b.interfaceNames(t), "\n")), 0o600))
	b.webBot.kill()
	for _, path := range databases(b.dir) {
		db := openDatabase(t, path)
		execSQL(t, db, "VACUUM")
		execSQL(t, db, "PRAGMA wal_checkpoint(TRUNCATE)")
		musttest.Do(t, db.Close())
	}
	// The audit log names the variables of this machine, and the others are no state.
	for _, name := range []string{"audit.jsonl", "daemon.lock", "socket"} {
		musttest.Do(t, os.RemoveAll(filepath.Join(b.dir, "state", name)))
	}
	musttest.Do(t, os.WriteFile(b.cfg, []byte(versionConfig), 0o600))
	musttest.Do(t, os.MkdirAll(filepath.Dir(path), 0o755))
	file := musttest.Get(os.Create(path))(t)
	w := zip.NewWriter(file)
	musttest.Do(t, w.AddFS(os.DirFS(b.dir)))
	musttest.Do(t, w.Close())
	musttest.Do(t, file.Close())
}

// expectPromises fails for what the description of a version has and today's lacks.
func expectPromises(t *testing.T, name string, then, now []byte) {
	t.Helper()
	var was, is any
	musttest.Do(t, json.Unmarshal(then, &was))
	musttest.Do(t, json.Unmarshal(now, &is))
	for _, lost := range (promised{was, is}).lost(name, was, is, 0) {
		t.Errorf("%s is promised and does not exist any more", lost)
	}
}

// promised compares two JSON Schemas or OpenAPI documents, the later of which may have more.
type promised struct{ was, is any }

// maxPromiseDepth ends the comparison of types that contain themselves.
const maxPromiseDepth = 24

func (p promised) lost(path string, was, is any, depth int) (lost []string) {
	was, is = reference(p.was, was), reference(p.is, is)
	if depth > maxPromiseDepth {
		return nil
	}
	switch was := was.(type) {
	case map[string]any:
		is, _ := is.(map[string]any)
		lost = lostRequired(path, texts(was["required"]), texts(is["required"]))
		for _, key := range slices.Sorted(maps.Keys(was)) {
			value, exists := is[key]
			switch {
			case !namesThings(path) && slices.Contains([]string{"description", "$defs", "components", "required"}, key):
			case exists:
				lost = append(lost, p.lost(path+"."+key, was[key], value, depth+1)...)
			case namesThings(path) || slices.Contains(structure, key):
				lost = append(lost, path+"."+key)
			}
		}
	case []any:
		is, _ := is.([]any)
		for i, value := range was {
			name := identity(p.was, value, i)
			at := -1
			for k := range is {
				if at < 0 && identity(p.is, is[k], k) == name {
					at = k
				}
			}
			if at >= 0 {
				lost = append(lost, p.lost(path+"."+name, value, is[at], depth+1)...)
			} else if last := path[strings.LastIndex(path, ".")+1:]; last == "enum" || last == "type" || slices.Contains(structure, last) {
				lost = append(lost, path+" "+name)
			}
		}
	case string:
		if (strings.HasSuffix(path, ".type") || strings.HasSuffix(path, ".const")) && !reflect.DeepEqual(is, any(was)) {
			lost = append(lost, path+" "+was)
		}
	case float64:
		is, _ := is.(float64)
		if isInput(path) && (is > was && strings.Contains(path, ".min") || is < was && strings.Contains(path, ".max")) {
			lost = append(lost, fmt.Sprint(path, " ", was))
		}
	}
	return lost
}

// structure are the words of JSON Schema and OpenAPI below which names are promised.
var structure = []string{
	"properties", "paths", "parameters", "requestBody", "responses", "content", "x-events",
	"schema", "items", "anyOf", "oneOf", "const",
}

// namesThings says whether the keys of the object at a path are names and not words of JSON Schema.
func namesThings(path string) bool {
	return slices.ContainsFunc([]string{".properties", ".paths", ".responses", ".content", ".x-events"}, func(end string) bool { return strings.HasSuffix(path, end) }) ||
		regexp.MustCompile(`\.paths\./[^.]*$`).MatchString(path)
}

// isInput says whether operators, agents or clients write what is at a path.
func isInput(path string) bool {
	return regexp.MustCompile(`^config|/frame|\.requestBody|\.parameters`).MatchString(path)
}

// lostRequired lists the fields that output may now lack, and those that input must now have.
func lostRequired(path string, was, is []string) (lost []string) {
	if isInput(path) {
		was, is = is, was
	}
	for _, name := range was {
		if !slices.Contains(is, name) {
			lost = append(lost, path+".required "+name)
		}
	}
	return lost
}

// texts returns the strings of a list.
func texts(value any) (texts []string) {
	list, _ := value.([]any)
	for _, v := range list {
		texts = append(texts, fmt.Sprint(v))
	}
	return texts
}

// identity names an item of a list: a value, a parameter, a type, or else its position.
func identity(document, value any, i int) string {
	if _, isObject := value.(map[string]any); !isObject {
		return fmt.Sprint(value)
	}
	object, _ := value.(map[string]any)
	meant, _ := reference(document, value).(map[string]any)
	for _, name := range []any{meant["name"], object["$ref"], object["type"]} {
		if name, isText := name.(string); isText {
			return name
		}
	}
	return fmt.Sprint(i)
}

// reference returns what a $ref of the document means, with what stands beside it.
func reference(document, value any) any {
	object, _ := value.(map[string]any)
	ref, isRef := object["$ref"].(string)
	if !isRef {
		return value
	}
	target := document
	for _, name := range strings.Split(strings.TrimPrefix(ref, "#/"), "/") {
		object, _ := target.(map[string]any)
		target = object[name]
	}
	meant, isObject := reference(document, target).(map[string]any)
	if !isObject {
		return target
	}
	meant = maps.Clone(meant)
	for key, own := range object {
		theirs, _ := meant[key].(map[string]any)
		if own, isObject := own.(map[string]any); isObject && theirs != nil {
			theirs = maps.Clone(theirs)
			maps.Copy(theirs, own)
			meant[key] = theirs
		} else if key != "$ref" {
			meant[key] = own
		}
	}
	return meant
}

func TestAPromiseThatIsNotKeptIsFound(t *testing.T) {
	t.Parallel()
	const then = `{"$defs": {"a": {"properties": {"kept": {"type": "string", "enum": ["x", "y"]}, "gone": {"type": "string"}, "description": {}}},
			"b": {"$ref": "#/$defs/a", "properties": {"own": {}}}, "frame": {"oneOf": [{"type": "string"}, {"type": "array"}], "minimum": 1}},
		"required": ["section"], "properties": {"section": {"$ref": "#/$defs/b"}, "frame": {"$ref": "#/$defs/frame"}},
		"paths": {"/api": {"get": {"responses": {"200": {}}, "parameters": [{"name": "from"}, {"name": "to"}]}, "put": {}, "post": {"requestBody": {"minimum": 1}}}}}`
	const now = `{"$defs": {"frame": {"oneOf": [{"type": "array"}]}}, "properties": {"frame": {"$ref": "#/$defs/frame"},
			"section": {"properties": {"kept": {"type": "string", "enum": ["y", "z"]}, "new": {}}}},
		"paths": {"/api": {"get": {"responses": {"204": {}}, "parameters": [{"name": "to"}]}, "post": {"requestBody": {"minimum": 2, "required": ["new"]}}}}}`
	var was, is any
	musttest.Do(t, json.Unmarshal([]byte(then), &was))
	musttest.Do(t, json.Unmarshal([]byte(now), &is))
	want := []string{
		".required section", ".paths./api.get.parameters from", ".paths./api.get.responses.200",
		".paths./api.post.requestBody.required new", ".paths./api.post.requestBody.minimum 1", ".paths./api.put",
		".properties.frame.oneOf string", ".properties.section.properties.description", ".properties.section.properties.gone",
		".properties.section.properties.kept.enum x", ".properties.section.properties.own",
	}
	if got := (promised{was, is}).lost("", was, is, 0); !slices.Equal(got, want) {
		t.Errorf("found\n%q, want\n%q", got, want)
	}
	if got := (promised{was, was}).lost("", was, was, 0); got != nil {
		t.Errorf("the same document has lost %q", got)
	}
}
