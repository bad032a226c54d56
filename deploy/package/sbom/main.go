// Command sbom prints the software bill of materials of Go binaries as SPDX 2.3 JSON. Its source is
// their build information, so it lists what was linked and not what go.mod permits.
package main

import (
	"cmp"
	"crypto/sha256"
	"debug/buildinfo"
	"encoding/json"
	"fmt"
	"log"
	"os"
	"regexp"
	"runtime/debug"
	"strconv"
	"strings"
	"time"
)

// object is written with sorted keys, so that the same binaries have the same document.
type object map[string]any

type document struct {
	packages, relationships []object
	added                   map[string]bool
}

var notInID = regexp.MustCompile(`[^A-Za-z0-9.]+`)

// add adds a package, unless another binary has it too, and its relationship to its user.
func (d *document) add(user, relationship, name, version string, fields object) (id string) {
	id = "SPDXRef-" + notInID.ReplaceAllString(name+"-"+version, "-")
	if !d.added[id] {
		d.added[id] = true
		fields["SPDXID"], fields["name"], fields["versionInfo"] = id, name, version
		fields["downloadLocation"], fields["filesAnalyzed"] = "NOASSERTION", false
		d.packages = append(d.packages, fields)
	}
	d.relationships = append(d.relationships,
		object{"spdxElementId": user, "relationshipType": relationship, "relatedSpdxElement": id})
	return id
}

// addBinary adds a binary and its modules. SPDX has no algorithm for the checksums of go.sum, which
// are hashes of a list of hashes, so they are comments.
func (d *document) addBinary(path, version string) error {
	info, err := buildinfo.ReadFile(path)
	if err != nil {
		return err
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return err
	}
	settings := map[string]string{}
	for _, setting := range info.Settings {
		settings[setting.Key] = setting.Value
	}
	name := "nanobot-" + settings["GOOS"] + "-" + settings["GOARCH"]
	if settings["GOARM"] != "" {
		name += "v" + settings["GOARM"]
	}
	sum := object{"algorithm": "SHA256", "checksumValue": fmt.Sprintf("%x", sha256.Sum256(content))}
	fields := object{"licenseDeclared": "MIT", "checksums": []object{sum}}
	binary := d.add("SPDXRef-DOCUMENT", "DESCRIBES", name, version, fields)
	stdlib := debug.Module{Path: "stdlib", Version: strings.TrimPrefix(info.GoVersion, "go"), Sum: "part of Go"}
	for _, module := range append(info.Deps, &stdlib) {
		module = cmp.Or(module.Replace, module)
		purl := "pkg:golang/" + strings.ToLower(module.Path) + "@" + module.Version
		d.add(binary, "DEPENDS_ON", module.Path, module.Version, object{"comment": module.Sum, "externalRefs": []object{
			{"referenceCategory": "PACKAGE-MANAGER", "referenceType": "purl", "referenceLocator": purl},
		}})
	}
	return nil
}

func run(version string, binaries []string) error {
	seconds, err := strconv.ParseInt(os.Getenv("SOURCE_DATE_EPOCH"), 10, 64)
	if err != nil {
		return fmt.Errorf("SOURCE_DATE_EPOCH: %w", err)
	}
	d := document{added: map[string]bool{}}
	for _, binary := range binaries {
		if err := d.addBinary(binary, version); err != nil {
			return fmt.Errorf("%s: %w", binary, err)
		}
	}
	created := time.Unix(seconds, 0).UTC().Format(time.RFC3339)
	name := "nanobot-" + strings.TrimPrefix(version, "v")
	// The namespace must be unique. The packages include the checksums of the binaries.
	namespace := sha256.Sum256(fmt.Append(nil, d.packages))
	encoder := json.NewEncoder(os.Stdout)
	encoder.SetIndent("", " ")
	return encoder.Encode(object{
		"spdxVersion": "SPDX-2.3", "dataLicense": "CC0-1.0", "SPDXID": "SPDXRef-DOCUMENT", "name": name,
		"documentNamespace": fmt.Sprintf("https://spdx.org/spdxdocs/%s-%x", name, namespace),
		"creationInfo":      object{"created": created, "creators": []string{"Tool: nanobot-sbom"}},
		"packages":          d.packages, "relationships": d.relationships,
	})
}

func main() {
	log.SetFlags(0)
	if len(os.Args) < 3 {
		log.Fatal("usage: SOURCE_DATE_EPOCH=SECONDS sbom VERSION BINARY...")
	}
	if err := run(os.Args[1], os.Args[2:]); err != nil {
		log.Fatal("sbom: ", err)
	}
}
