package packaging_test

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"debug/elf"
	"debug/macho"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// onlySystemd are the files that make no sense where there is no systemd.
var onlySystemd = []string{"lib/systemd/system/nanobot.service", "lib/systemd/system/nanobot@.service", "lib/nanobot/notify-failure"}

// everywhere are some of the files that every package has.
var everywhere = []string{"share/man/man1/nanobot.1.gz", "share/doc/nanobot/docs/operations.md", "share/doc/nanobot/deploy/examples/minimal-python/agent.py"}

// target is what a package says of itself, in the words of its format.
type target struct {
	machine            elf.Machine
	debian, alpine, rh string
}

var targets = map[string]target{
	"linux-amd64": {elf.EM_X86_64, "amd64", "x86_64", "x86_64"},
	"linux-arm64": {elf.EM_AARCH64, "arm64", "aarch64", "aarch64"},
	"linux-armv7": {elf.EM_ARM, "armhf", "armv7", "armv7hl"},
}

func thisPlatform() string {
	return "linux-" + strings.Replace(runtime.GOARCH, "arm", "armv7", 1)
}

// tarFiles returns the files of an archive by their paths. A .apk is several archives, one after
// the other, of which only the last has an end.
func tarFiles(t *testing.T, content io.Reader) map[string]string {
	t.Helper()
	all := map[string]string{}
	for r := tar.NewReader(content); ; {
		header, err := r.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		musttest.Do(t, err)
		if header.Uid != 0 || header.Mode&0o022 != 0 {
			t.Errorf("%s belongs to %d with mode %o", header.Name, header.Uid, header.Mode)
		}
		if header.Typeflag == tar.TypeReg {
			all[strings.TrimPrefix(header.Name, "./")] = string(musttest.Get(io.ReadAll(r))(t))
		}
	}
}

func gunzipped(t *testing.T, path string) io.Reader {
	t.Helper()
	return musttest.Get(gzip.NewReader(bytes.NewReader(musttest.Get(os.ReadFile(path))(t))))(t)
}

func expectFiles(t *testing.T, what string, files map[string]string, prefix string, want, unwanted []string) {
	t.Helper()
	for _, path := range want {
		if _, ok := files[prefix+path]; !ok {
			t.Errorf("%s lacks %s", what, prefix+path)
		}
	}
	for _, path := range unwanted {
		if _, ok := files[prefix+path]; ok {
			t.Errorf("%s has %s", what, prefix+path)
		}
	}
}

// checkPackages compares the packages for a platform with the archive, whose binary is static.
func checkPackages(t *testing.T, dist, version, name string) {
	t.Helper()
	p, base := targets[name], filepath.Join(dist, "nanobot-"+version+"-"+name)
	archive := tarFiles(t, gunzipped(t, base+".tar.gz"))
	prefix := filepath.Base(base) + "/"
	expectFiles(t, name+".tar.gz", archive, prefix, slices.Concat(everywhere, onlySystemd), nil)
	binary := archive[prefix+"bin/nanobot"]
	program := musttest.Get(elf.NewFile(strings.NewReader(binary)))(t)
	if program.Machine != p.machine || slices.ContainsFunc(program.Progs, func(s *elf.Prog) bool { return s.Type == elf.PT_INTERP }) {
		t.Errorf("the binary for %s is for %s, or is not static", name, program.Machine)
	}

	apk := tarFiles(t, gunzipped(t, base+".apk"))
	expectFiles(t, name+".apk", apk, "usr/", everywhere, onlySystemd)
	for path := range apk {
		if !strings.HasPrefix(path, "usr/") && path != ".PKGINFO" {
			t.Errorf("%s.apk has %s", name, path)
		}
	}
	for _, line := range []string{"pkgver = " + strings.Replace(version, "-rc.", "_rc", 1) + "-r0\n", "arch = " + p.alpine + "\n"} {
		if !strings.Contains(apk[".PKGINFO"], line) {
			t.Errorf("%s.apk does not say %q:\n%s", name, line, apk[".PKGINFO"])
		}
	}
	wanttest.Equal(t, name+".apk has the archive's binary", apk["usr/bin/nanobot"] == binary, true)
	checkDeb(t, base+".deb", strings.Replace(version, "-rc", "~rc", 1), p.debian, binary)
	checkRPM(t, base+".rpm", p.rh)
}

func checkDeb(t *testing.T, path, version, arch, binary string) {
	t.Helper()
	if _, err := exec.LookPath("dpkg-deb"); err != nil {
		t.Log("dpkg-deb is missing on this machine, so this is left out: the contents of the .deb")
		return
	}
	list := musttest.Get(exec.Command("dpkg-deb", "--fsys-tarfile", path).Output())(t)
	files := tarFiles(t, bytes.NewReader(list))
	expectFiles(t, path, files, "usr/", slices.Concat(everywhere, onlySystemd), nil)
	wanttest.Equal(t, path+" has the archive's binary", files["usr/bin/nanobot"] == binary, true)
	fields := musttest.Get(exec.Command("dpkg-deb", "--field", path, "Version", "Architecture").Output())(t)
	wanttest.Equal(t, path+" says", string(fields), "Version: "+version+"\nArchitecture: "+arch+"\n")
}

// checkRPM looks into the header of an .rpm, which is not compressed.
func checkRPM(t *testing.T, path, arch string) {
	t.Helper()
	content := musttest.Get(os.ReadFile(path))(t)
	header, _, _ := bytes.Cut(content[96:], []byte("\x1f\x8b\x08"))
	for _, word := range append(slices.Concat(everywhere, onlySystemd), "x/"+arch, "x/systemctl daemon-reload || :") {
		if !bytes.Contains(header, []byte(filepath.Base(word))) {
			t.Errorf("the header of %s lacks %s", path, filepath.Base(word))
		}
	}
}

// checkMacArchive checks the archive for macOS, where there is no systemd.
func checkMacArchive(t *testing.T, dist, version string) {
	t.Helper()
	name := "nanobot-" + version + "-darwin-arm64"
	files := tarFiles(t, gunzipped(t, filepath.Join(dist, name+".tar.gz")))
	expectFiles(t, name, files, name+"/", everywhere, onlySystemd)
	program := musttest.Get(macho.NewFile(strings.NewReader(files[name+"/bin/nanobot"])))(t)
	wanttest.Equal(t, "the program is for", program.Cpu, macho.CpuArm64)
}

func TestThePackagesOfThisMachineHoldWhatItsSystemsUse(t *testing.T) {
	checkPackages(t, filepath.Dir(packages(t, "SHA256SUMS")), "1.2.3", thisPlatform())
}
