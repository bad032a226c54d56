package packaging_test

import (
	"bufio"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// spdxSchema has what the schema of SPDX 2.3 requires of the parts that the documents have.
const spdxSchema = `{"type": "object",
	"required": ["SPDXID", "creationInfo", "dataLicense", "name", "spdxVersion", "documentNamespace", "packages", "relationships"],
	"additionalProperties": false,
	"properties": {
		"SPDXID": {"const": "SPDXRef-DOCUMENT"}, "spdxVersion": {"const": "SPDX-2.3"}, "dataLicense": {"const": "CC0-1.0"},
		"name": {"type": "string", "minLength": 1}, "documentNamespace": {"type": "string", "pattern": "^https://[^# ]+$"},
		"creationInfo": {"type": "object", "required": ["created", "creators"], "additionalProperties": false, "properties": {
			"created": {"type": "string", "pattern": "^\\d{4}-\\d\\d-\\d\\dT\\d\\d:\\d\\d:\\d\\dZ$"},
			"creators": {"type": "array", "minItems": 1, "items": {"pattern": "^(Person|Organization|Tool): .+$"}}}},
		"packages": {"type": "array", "minItems": 1, "items": {"type": "object",
			"required": ["SPDXID", "name", "downloadLocation", "filesAnalyzed"], "additionalProperties": false, "properties": {
			"SPDXID": {"type": "string", "pattern": "^SPDXRef-[A-Za-z0-9.-]+$"}, "name": {"type": "string"}, "versionInfo": {"type": "string"},
			"downloadLocation": {"const": "NOASSERTION"}, "filesAnalyzed": {"const": false},
			"licenseDeclared": {"type": "string"}, "comment": {"type": "string"},
			"checksums": {"type": "array", "items": {"required": ["algorithm", "checksumValue"], "additionalProperties": false,
				"properties": {"algorithm": {"const": "SHA256"}, "checksumValue": {"pattern": "^[0-9a-f]{64}$"}}}},
			"externalRefs": {"type": "array", "items": {"required": ["referenceCategory", "referenceLocator", "referenceType"],
				"additionalProperties": false, "properties": {"referenceCategory": {"const": "PACKAGE-MANAGER"},
				"referenceType": {"const": "purl"}, "referenceLocator": {"pattern": "^pkg:golang/[^@ A-Z]+@[^ ]+$"}}}}}}},
		"relationships": {"type": "array", "items": {"type": "object", "additionalProperties": false,
			"required": ["spdxElementId", "relatedSpdxElement", "relationshipType"], "properties": {
			"spdxElementId": {"type": "string"}, "relatedSpdxElement": {"type": "string"},
			"relationshipType": {"enum": ["DESCRIBES", "DEPENDS_ON"]}}}}}}`

type sbom struct {
	Packages []struct {
		ID        string `json:"SPDXID"`
		Name      string
		Version   string `json:"versionInfo"`
		Comment   string
		Checksums []struct{ ChecksumValue string }
	}
	Relationships []struct{ SPDXElementID, RelationshipType, RelatedSPDXElement string }
}

// checkSBOM compares a document with what the go command says about the binaries, by their names in
// the document.
func checkSBOM(t *testing.T, document []byte, binaries map[string]string) {
	t.Helper()
	compiler := jsonschema.NewCompiler()
	musttest.Do(t, compiler.AddResource("spdx", musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(spdxSchema)))(t)))
	value := musttest.Get(jsonschema.UnmarshalJSON(strings.NewReader(string(document))))(t)
	if err := musttest.Get(compiler.Compile("spdx"))(t).Validate(value); err != nil {
		t.Error(err)
	}
	var bill sbom
	musttest.Do(t, json.Unmarshal(document, &bill))
	entries, sums := map[string]string{}, map[string]string{}
	for _, p := range bill.Packages {
		if entries[p.ID] != "" {
			t.Errorf("%s is there twice", p.ID)
		}
		entries[p.ID] = p.Name + " " + p.Version + " " + p.Comment
		if len(p.Checksums) > 0 {
			entries[p.ID], sums[p.Name] = p.Name, p.Checksums[0].ChecksumValue
		}
	}
	of := map[string][]string{}
	for _, r := range bill.Relationships {
		of[entries[r.SPDXElementID]] = append(of[entries[r.SPDXElementID]], entries[r.RelatedSPDXElement])
	}
	wanttest.Equal(t, "binaries in the document", len(of[""]), len(binaries))
	for name, path := range binaries {
		out := musttest.Get(exec.Command("go", "version", "-m", path).Output())(t)
		var modules []string
		lines := bufio.NewScanner(strings.NewReader(string(out)))
		lines.Scan()
		_, goVersion, _ := strings.Cut(lines.Text(), ": go")
		for lines.Scan() {
			if fields := strings.Fields(lines.Text()); fields[0] == "dep" {
				modules = append(modules, strings.Join(fields[1:], " "))
			}
		}
		if len(modules) < 30 || !slices.Contains(of[""], name) {
			t.Errorf("%s: %d modules; the document has the binaries %v", name, len(modules), of[""])
		}
		modules = append(modules, "stdlib "+goVersion+" part of Go")
		wanttest.EqualSlices(t, "modules of "+name, of[name], modules)
		wanttest.Equal(t, "checksum of "+name, sums[name], sha256Of(musttest.Get(os.ReadFile(path))(t)))
	}
}

func TestTheDocumentListsEveryModuleOfTheBinary(t *testing.T) {
	binary := filepath.Join(unpack(t), "bin/nanobot")
	if _, err := exec.LookPath("jq"); err != nil {
		t.Skip("jq is missing on this machine")
	}
	write := func(binaries ...string) ([]byte, error) {
		cmd := exec.Command("sh", append([]string{"./sbom", "v1.2.3"}, binaries...)...)
		cmd.Env = append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000")
		return cmd.Output()
	}
	document := musttest.Get(write(binary))(t)
	checkSBOM(t, document, map[string]string{"nanobot-" + platform: binary})
	wanttest.Equal(t, "made once more, it is", string(musttest.Get(write(binary))(t)), string(document))
	if out, err := write("./sbom", binary); err == nil || len(out) > 0 {
		t.Errorf("without the modules of a file: %v %s", err, out)
	}
}
