package packaging_test

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"nanobot/internal/musttest"
	"nanobot/internal/wanttest"
)

// needsRelease skips a test that takes minutes, because it makes a release for all targets.
func needsRelease(t *testing.T) {
	t.Helper()
	if os.Getenv("NANOBOT_TEST_RELEASE") == "" {
		t.Skip("set NANOBOT_TEST_RELEASE=1 (make test-release) to make a whole release and try it")
	}
}

const (
	releaseVersion = "v1.0.0-rc.1"
	releaseNumber  = "1.0.0-rc.1"
	releaseBase    = "https://example.org/nanobot"
)

// makeRelease makes a release from a source.
func makeRelease(source, folder, key string, environ ...string) (string, error) {
	cmd := exec.Command("sh", filepath.Join(source, "deploy/package/release"), folder)
	cmd.Env = append(os.Environ(), "VERSION="+releaseVersion, "BASE="+releaseBase, "KEY="+key, "ARCH=", "SOURCE_DATE_EPOCH=1700000000")
	cmd.Env = append(cmd.Env, environ...)
	out, err := cmd.CombinedOutput()
	return string(out), err
}

var theRelease = sync.OnceValues(func() (string, error) {
	key := filepath.Join(dist, "key.pem")
	if out, err := exec.Command("openssl", "ecparam", "-name", "prime256v1", "-genkey", "-noout", "-out", key).CombinedOutput(); err != nil {
		return string(out), err
	}
	return makeRelease("../..", filepath.Join(dist, "release"), key)
})

// logFailure shows the output of a release that failed in one of the tests that need it.
var logFailure sync.Once

// release returns the folder of a release, which is made once for all tests.
func release(t *testing.T) string {
	t.Helper()
	needsRelease(t)
	out, err := theRelease()
	if err != nil {
		logFailure.Do(func() { t.Log(out) })
		t.Fatal("make release: ", err)
	}
	return filepath.Join(dist, "release")
}

func TestAReleaseHasEveryFileAndItsChecksum(t *testing.T) {
	folder := release(t)
	said, _ := theRelease()
	t.Log(said)
	var want, images []string
	for name := range targets {
		for _, format := range []string{"apk", "deb", "rpm", "tar.gz"} {
			want = append(want, "nanobot-"+releaseNumber+"-"+name+"."+format)
		}
	}
	want = append(want, "nanobot-"+releaseNumber+"-darwin-arm64.tar.gz", "nanobot-"+releaseNumber+".spdx.json", "install.sh")
	var got []string
	for line := range strings.Lines(string(musttest.Get(os.ReadFile(filepath.Join(folder, "SHA256SUMS")))(t))) {
		sum, name, _ := strings.Cut(strings.TrimSpace(line), "  ")
		wanttest.Equal(t, "checksum of "+name, sum, sha256Of(musttest.Get(os.ReadFile(filepath.Join(folder, name)))(t)))
		if strings.Contains(name, ".docker.tar") || strings.Contains(name, ".oci.tar") {
			images = append(images, name)
			continue
		}
		got = append(got, name)
	}
	slices.Sort(want)
	slices.Sort(got)
	wanttest.EqualSlices(t, "files with a checksum", got, want)
	if _, err := exec.LookPath("mmdebstrap"); err == nil && len(images) < 2 {
		t.Errorf("the images are %v", images)
	}
	for _, step := range []string{"the upload", "the tag", "git tag -s " + releaseVersion} {
		if !strings.Contains(said, step) {
			t.Errorf("it does not say that it leaves out %s:\n%s", step, said)
		}
	}
	if strings.Contains(said, "the signature") {
		t.Errorf("it was given a key, and says:\n%s", said)
	}
}

func TestTheReleasesScriptHasTheKeyOfItsSignature(t *testing.T) {
	folder := release(t)
	script := string(musttest.Get(os.ReadFile(filepath.Join(folder, "install.sh")))(t))
	for _, line := range []string{"\nversion='" + releaseVersion + "'\n", "\nbase='" + releaseBase + "'\n"} {
		if strings.Count(script, line) != 1 {
			t.Errorf("install.sh does not have the line %q once", line)
		}
	}
	_, key, _ := strings.Cut(script, "\nkey='")
	key, _, _ = strings.Cut(key, "'")
	public := filepath.Join(t.TempDir(), "public.pem")
	musttest.Do(t, os.WriteFile(public, []byte(key), 0o600))
	sums := filepath.Join(folder, "SHA256SUMS")
	if out, err := exec.Command("openssl", "dgst", "-sha256", "-verify", public, "-signature", sums+".sig", sums).CombinedOutput(); err != nil {
		t.Errorf("verify: %v\n%s", err, out)
	}
	if out, err := exec.Command("sh", "-n", filepath.Join(folder, "install.sh")).CombinedOutput(); err != nil {
		t.Errorf("install.sh: %v\n%s", err, out)
	}
}

// copySource copies what is in the repository, without its history.
func copySource(t *testing.T) string {
	t.Helper()
	list := exec.Command("git", "-C", "../..", "ls-files", "-z", "--cached", "--others", "--exclude-standard")
	files := musttest.Get(list.Output())(t)
	source := filepath.Join(t.TempDir(), "elsewhere")
	musttest.Do(t, os.Mkdir(source, 0o700))
	unpack := exec.Command("tar", "-x", "-C", source)
	pack := exec.Command("tar", "-c", "--null", "--ignore-failed-read", "-C", "../..", "-T", "-")
	pack.Stdin = bytes.NewReader(files)
	unpack.Stdin = musttest.Get(pack.StdoutPipe())(t)
	musttest.Do(t, pack.Start())
	musttest.Do(t, unpack.Run())
	musttest.Do(t, pack.Wait())
	return source
}

func TestTwoReleasesInDifferentFoldersHaveTheSameBytes(t *testing.T) {
	first, second := release(t), filepath.Join(t.TempDir(), "second")
	out, err := makeRelease(copySource(t), second, filepath.Join(dist, "key.pem"),
		"TMPDIR="+t.TempDir(), "TZ=Asia/Tokyo", "LC_ALL=C.UTF-8", "USER=somebody")
	if err != nil {
		t.Fatalf("release: %v\n%s", err, out)
	}
	if !strings.Contains(out, "the tag") {
		t.Error("it takes a source without history for a tagged one")
	}
	read := func(folder string) string {
		return string(musttest.Get(os.ReadFile(filepath.Join(folder, "SHA256SUMS")))(t))
	}
	wanttest.Equal(t, "the checksums are", read(second), read(first))
}

func TestEveryPackageOfAReleaseHoldsWhatItsSystemUses(t *testing.T) {
	folder := release(t)
	for _, name := range slices.Sorted(maps.Keys(targets)) {
		checkPackages(t, folder, releaseNumber, name)
	}
	checkMacArchive(t, folder, releaseNumber)
}

// binaries unpacks the archives of a release and returns the path of each binary by its platform.
func binaries(t *testing.T) map[string]string {
	t.Helper()
	folder, all := release(t), map[string]string{}
	temp := t.TempDir()
	for _, name := range append(slices.Collect(maps.Keys(targets)), "darwin-arm64") {
		base := "nanobot-" + releaseNumber + "-" + name
		unpack := exec.Command("tar", "-xzf", filepath.Join(folder, base+".tar.gz"), "-C", temp, base+"/bin/nanobot")
		if out, err := unpack.CombinedOutput(); err != nil {
			t.Fatalf("unpack: %v\n%s", err, out)
		}
		all[name] = filepath.Join(temp, base, "bin/nanobot")
	}
	return all
}

func TestTheDocumentListsEveryModuleOfEveryBinary(t *testing.T) {
	all := map[string]string{}
	for name, path := range binaries(t) {
		all["nanobot-"+name] = path
	}
	checkSBOM(t, musttest.Get(os.ReadFile(filepath.Join(release(t), "nanobot-"+releaseNumber+".spdx.json")))(t), all)
}

func TestTheBinariesForARMRunUnderQEMU(t *testing.T) {
	all := binaries(t)
	for name, emulator := range map[string]string{"linux-arm64": "qemu-aarch64-static", "linux-armv7": "qemu-arm-static"} {
		t.Run(name, func(t *testing.T) {
			if _, err := exec.LookPath(emulator); err != nil {
				t.Skipf("%s is missing on this machine (apt install qemu-user-static), so the binary for %s does not run", emulator, name)
			}
			run := func(args ...string) string {
				cmd := exec.Command(emulator, append([]string{all[name]}, args...)...)
				cmd.Dir = t.TempDir()
				cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + cmd.Dir} // without NANOBOT_TEST_RELEASE, which is no key
				out, err := cmd.CombinedOutput()
				if err != nil {
					t.Errorf("%v: %v", args, err)
				}
				return string(out)
			}
			if out := run("version"); !strings.HasPrefix(out, "nanobot "+releaseVersion+" ") {
				t.Errorf("version: %s", out)
			}
			// The agent is a program of this machine: without binfmt_misc, QEMU emulates only the
			// first program.
			wanttest.Equal(t, "a turn: got", run("run", "--command", "echo got {message}", "it's me"), "got it's me\n")
		})
	}
}

func TestAReleaseNeedsAVersion(t *testing.T) {
	for _, version := range []string{"", "1.2.3", "v1.2", "v1.2.3-dirty", "v1.2.3-4-gabcdef", "v1.2.3-rc.1'x"} {
		cmd := exec.Command("sh", "./release", t.TempDir())
		cmd.Env = append(os.Environ(), "VERSION="+version)
		if out, err := cmd.CombinedOutput(); err == nil || !strings.Contains(string(out), "VERSION must look like v1.2.3") {
			t.Errorf("with %q: %v\n%s", version, err, out)
		}
	}
}

func TestTheStampFillsInTheVariablesOfTheScript(t *testing.T) {
	const script = "#!/bin/sh\nversion=''\nbase='https://example.org'\nkey=''\nversion=other\necho \"$version\"\n"
	stamp := func(input string, environ ...string) (string, error) {
		cmd := exec.Command("sh", "./stamp")
		cmd.Stdin, cmd.Env = strings.NewReader(input), append([]string{"PATH=" + os.Getenv("PATH")}, environ...)
		out, err := cmd.Output()
		return string(out), err
	}
	const key = "-----BEGIN PUBLIC KEY-----\nA\\n+/==\n-----END PUBLIC KEY-----"
	wanttest.Equal(t, "stamped", musttest.Get(stamp(script, "VERSION=v1.2.3", "PUBLIC="+key))(t),
		"#!/bin/sh\nversion='v1.2.3'\nbase='https://example.org'\nkey='"+key+"'\nversion=other\necho \"$version\"\n")
	if _, err := stamp(script, "BASE=https://example.org/'; true '"); err == nil {
		t.Error("a quote ends the value")
	}
	if _, err := stamp("#!/bin/sh\nversion=''\n"); err == nil {
		t.Error("a script without the variables is stamped")
	}
}
