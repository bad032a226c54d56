package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// image is what an archive of an image contains.
type image struct {
	name   string
	layers [][]byte // as they are in the archive
	config imageFile
}

type imageFile struct {
	OS, Architecture, Created string
	Config                    imageConfig
	RootFS                    struct {
		Type    string
		DiffIDs []string `json:"diff_ids"`
	}
}

// descriptor names a blob of an OCI layout.
type descriptor struct {
	MediaType, Digest string
	Size              int
	Platform          struct{ Architecture, OS string }
	Annotations       map[string]string
}

// layout is an archive of an image while it is read. What has been read is removed from files.
type layout struct {
	*testing.T
	path  string
	files map[string][]byte
}

func openLayout(t *testing.T, path string) layout {
	t.Helper()
	files := map[string][]byte{}
	for header, content := range entries(t, musttest.Get(os.ReadFile(path))(t)) {
		if header.Typeflag == tar.TypeReg {
			files[header.Name] = content
		}
	}
	return layout{t, path, files}
}

// entries returns the entries of a tar file, of which no name may be unclean or there twice.
func entries(t *testing.T, archive []byte) map[*tar.Header][]byte {
	t.Helper()
	found, names := map[*tar.Header][]byte{}, map[string]bool{}
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return found
		}
		musttest.Do(t, err)
		name := strings.TrimPrefix(strings.TrimSuffix(header.Name, "/"), "./")
		if names[name] || path.IsAbs(name) || name != "" && path.Clean(name) != name || strings.HasPrefix(name, "..") {
			t.Errorf("entry %q is unclean, or there twice", header.Name)
		}
		names[name] = true
		found[header] = musttest.Get(io.ReadAll(r))(t)
	}
}

func sha256Of(content []byte) string {
	sum := sha256.Sum256(content)
	return hex.EncodeToString(sum[:])
}

// consume removes a file from the layout and returns its content.
func (l layout) consume(name string) []byte {
	l.Helper()
	content, ok := l.files[name]
	if !ok {
		l.Fatalf("%s has no %q", l.path, name)
	}
	delete(l.files, name)
	return content
}

// parse reads JSON, of which every key must be known.
func (l layout) parse(content []byte, into any) {
	l.Helper()
	decoder := json.NewDecoder(bytes.NewReader(content))
	decoder.DisallowUnknownFields()
	if err := decoder.Decode(into); err != nil {
		l.Fatalf("%s: %v in %s", l.path, err, content)
	}
}

// blob returns the content that a descriptor names.
func (l layout) blob(d descriptor, mediaType string) []byte {
	l.Helper()
	sum, _ := strings.CutPrefix(d.Digest, "sha256:")
	content := l.consume("blobs/sha256/" + sum)
	if sha256Of(content) != sum || len(content) != d.Size || d.MediaType != "application/vnd.oci.image."+mediaType {
		l.Errorf("%s: %+v names %d bytes with the SHA-256 %s", l.path, d, len(content), sha256Of(content))
	}
	return content
}

// finish checks what does not depend on the format.
func (l layout) finish(i image) image {
	l.Helper()
	if len(l.files) > 0 {
		l.Errorf("%s has files that nothing names: %q", l.path, slices.Sorted(maps.Keys(l.files)))
	}
	wanttest.Equal(l.T, l.path+" is for", i.config.OS+" "+i.config.RootFS.Type, "linux layers")
	var sums []string
	for _, layer := range i.layers {
		sums = append(sums, "sha256:"+sha256Of(unzip(l.T, layer)))
	}
	wanttest.EqualSlices(l.T, l.path+" has the unpacked layers", i.config.RootFS.DiffIDs, sums)
	return i
}

func unzip(t *testing.T, layer []byte) []byte {
	t.Helper()
	return musttest.Get(io.ReadAll(musttest.Get(gzip.NewReader(bytes.NewReader(layer)))(t)))(t)
}

// readDockerImage reads an archive as docker load does.
func readDockerImage(t *testing.T, path string) image {
	t.Helper()
	l := openLayout(t, path)
	var manifests []struct {
		Config           string
		RepoTags, Layers []string
	}
	l.parse(l.consume("manifest.json"), &manifests)
	if len(manifests) != 1 || len(manifests[0].RepoTags) != 1 {
		t.Fatalf("%s: the manifest is %+v; want one image with one name", path, manifests)
	}
	manifest := manifests[0]
	read := image{name: manifest.RepoTags[0]}
	config := l.consume(manifest.Config)
	wanttest.Equal(t, "the config is called", manifest.Config, sha256Of(config)+".json")
	l.parse(config, &read.config)
	for _, name := range manifest.Layers {
		layer := l.consume(name)
		wanttest.Equal(t, "a layer is called", name, sha256Of(layer)+".tar.gz")
		read.layers = append(read.layers, layer)
	}
	return l.finish(read)
}

// readOCIImage reads an archive as the specification of OCI layouts describes it.
func readOCIImage(t *testing.T, path string) image {
	t.Helper()
	l := openLayout(t, path)
	wanttest.Equal(t, "oci-layout is", string(l.consume("oci-layout")), `{"imageLayoutVersion":"1.0.0"}`)
	var index, manifest struct {
		SchemaVersion     int
		MediaType         string
		Manifests, Layers []descriptor
		Config            descriptor
	}
	l.parse(l.consume("index.json"), &index)
	if len(index.Manifests) != 1 || index.SchemaVersion != 2 || index.MediaType != "application/vnd.oci.image.index.v1+json" {
		t.Fatalf("%s: the index is %+v; want one image", path, index)
	}
	l.parse(l.blob(index.Manifests[0], "manifest.v1+json"), &manifest)
	if manifest.SchemaVersion != 2 || manifest.MediaType != index.Manifests[0].MediaType {
		t.Errorf("%s: the manifest is %+v", path, manifest)
	}
	read := image{name: index.Manifests[0].Annotations["org.opencontainers.image.ref.name"]}
	l.parse(l.blob(manifest.Config, "config.v1+json"), &read.config)
	wanttest.Equal(t, "the image of the index is for", index.Manifests[0].Platform.Architecture, read.config.Architecture)
	for _, layer := range manifest.Layers {
		read.layers = append(read.layers, l.blob(layer, "layer.v1.tar+gzip"))
	}
	return l.finish(read)
}

// buildImage writes the archives of an image into a new folder, and returns their paths.
func buildImage(t *testing.T, binary, arch, version string, environ ...string) (docker, oci string) {
	t.Helper()
	for _, program := range []string{"jq", "sha256sum"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skipf("%s is missing on this machine", program)
		}
	}
	folder := t.TempDir()
	cmd := exec.Command("sh", "./image", binary, arch, version, folder)
	cmd.Env = append(append(os.Environ(), "SOURCE_DATE_EPOCH=1700000000"), environ...)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("build the image: %v\n%s", err, out)
	}
	name := filepath.Join(folder, "nanobot-"+strings.TrimPrefix(version, "v")+"-linux-"+arch)
	return name + ".docker.tar", name + ".oci.tar"
}

// tinyBase writes the smallest base layer.
func tinyBase(t *testing.T) string {
	t.Helper()
	var archive bytes.Buffer
	w := tar.NewWriter(&archive)
	for name, content := range map[string]string{"./etc/passwd": "root:x:0:0::/:/bin/sh\n", "./etc/group": "root:x:0:\n"} {
		musttest.Do(t, w.WriteHeader(&tar.Header{Name: name, Mode: 0o644, Size: int64(len(content))}))
		musttest.Get(io.WriteString(w, content))(t)
	}
	musttest.Do(t, w.Close())
	base := filepath.Join(t.TempDir(), "base.tar")
	musttest.Do(t, os.WriteFile(base, archive.Bytes(), 0o644))
	return base
}

func TestAnImageIsForDockerAndAnOCILayout(t *testing.T) {
	binary, base := filepath.Join(t.TempDir(), "binary"), "ROOTFS="+tinyBase(t)
	musttest.Do(t, os.WriteFile(binary, []byte("the binary\n"), 0o700))
	dockerPath, ociPath := buildImage(t, binary, "arm64", "v1.2.3+4.gabc", base)
	docker, oci := readDockerImage(t, dockerPath), readOCIImage(t, ociPath)

	wanttest.Equal(t, "the name for docker is", docker.name, "localhost/nanobot:1.2.3-4.gabc")
	wanttest.Equal(t, "the name in the layout is", oci.name, docker.name)
	wanttest.Equal(t, "it is for", docker.config.Architecture, "arm64")
	wanttest.Equal(t, "it is dated", docker.config.Created, "2023-11-14T22:13:20Z")
	wanttest.Equal(t, "its version is", docker.config.Config.Labels["org.opencontainers.image.version"], "1.2.3+4.gabc")
	if docker.config.Config.Healthcheck == nil {
		t.Error("docker's config has no health check")
	}
	docker.config.Config.Healthcheck = nil // which OCI does not have
	wanttest.Equal(t, "the config in the layout is", fmt.Sprintf("%+v", oci.config), fmt.Sprintf("%+v", docker.config))

	var got []string
	for header, content := range entries(t, unzip(t, oci.layers[1])) {
		line := fmt.Sprintf("%s %v %d:%d", header.Name, header.FileInfo().Mode(), header.Uid, header.Gid)
		if strings.HasPrefix(header.Name, "etc/") || header.Name == "usr/bin/nanobot" {
			line += " " + string(content)
		}
		got = append(got, line)
	}
	slices.Sort(got)
	wanttest.EqualSlices(t, "the second layer has", got, []string{
		"bot/ drwxr-x--- 10001:10001",
		"dev/ drwxr-xr-x 0:0",
		"etc/group -rw-r--r-- 0:0 root:x:0:\nnanobot:x:10001:\n",
		"etc/passwd -rw-r--r-- 0:0 root:x:0:0::/:/bin/sh\nnanobot:x:10001:10001::/bot:/usr/sbin/nologin\n",
		"usr/bin/nanobot -rwxr-xr-x 0:0 the binary\n",
		"usr/share/doc/nanobot/ drwxr-xr-x 0:0",
		"usr/share/doc/nanobot/copyright -rw-r--r-- 0:0",
		"var/lib/nanobot/ drwxr-x--- 10001:10001",
	})
}

func TestAnImageIsReproducibleAndANewVersionChangesItsLastLayer(t *testing.T) {
	binary, base := filepath.Join(t.TempDir(), "binary"), "ROOTFS="+tinyBase(t)
	musttest.Do(t, os.WriteFile(binary, []byte("the binary\n"), 0o700))
	docker, oci := buildImage(t, binary, runtime.GOARCH, "v1.2.3", base)
	expectSameImage(t, docker, oci, binary, base)

	musttest.Do(t, os.WriteFile(binary, []byte("the next binary\n"), 0o700))
	next, _ := buildImage(t, binary, runtime.GOARCH, "v1.2.4", base)
	before, after := readDockerImage(t, docker), readDockerImage(t, next)
	if !bytes.Equal(before.layers[0], after.layers[0]) || bytes.Equal(before.layers[1], after.layers[1]) {
		t.Error("a new version has to change the second layer, and only this one")
	}
}

// expectSameImage builds an image again.
func expectSameImage(t *testing.T, docker, oci, binary string, environ ...string) {
	t.Helper()
	dockerAgain, ociAgain := buildImage(t, binary, runtime.GOARCH, "v1.2.3", environ...)
	for first, second := range map[string]string{docker: dockerAgain, oci: ociAgain} {
		if !bytes.Equal(musttest.Get(os.ReadFile(first))(t), musttest.Get(os.ReadFile(second))(t)) {
			t.Errorf("%s differs when it is built again", filepath.Base(first))
		}
	}
}
