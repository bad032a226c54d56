package agentstest

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"nanobot/internal/musttest"
)

// MCPClient installs the Model Context Protocol client from npm and returns the folder with its
// node_modules.
func MCPClient(t testing.TB) string {
	t.Helper()
	return Library(t, "@modelcontextprotocol/sdk@1.32.2")
}

// Library installs a library from npm, with its version, and returns the folder with its
// node_modules.
func Library(t testing.TB, pkg string) string {
	t.Helper()
	installOnce(t, pkg, filepath.FromSlash(pkg[:strings.LastIndex(pkg, "@")]))
	return folder(t, pkg)
}

// install installs an agent and returns its program.
func install(t testing.TB, pkg, program string) string {
	t.Helper()
	return installOnce(t, pkg, filepath.Join(".bin", program))
}

// nodeFolder returns the folder of a Node that is new enough for all agents: that of the system, or
// one from npm.
func nodeFolder(t testing.TB) string {
	t.Helper()
	const major, minor = 22, 19
	path, err := exec.LookPath("node")
	if err != nil {
		t.Fatal("the agents need Node: ", err)
	}
	out := musttest.Get(exec.CommandContext(t.Context(), path, "--version").Output())(t)
	var x, y int
	if _, err := fmt.Sscanf(string(out), "v%d.%d.", &x, &y); err == nil && (x > major || x == major && y >= minor) {
		return filepath.Dir(path)
	}
	arch := strings.NewReplacer("amd64", "x64").Replace(runtime.GOARCH)
	return filepath.Dir(install(t, "node-"+runtime.GOOS+"-"+arch+"@22.23.3", "node"))
}

// folder is the installation folder of a package, which is kept between runs.
func folder(t testing.TB, pkg string) string {
	t.Helper()
	cache := musttest.Get(os.UserCacheDir())(t)
	return filepath.Join(cache, "nanobot", "agents", strings.NewReplacer("/", "-", "@", "-").Replace(strings.TrimPrefix(pkg, "@")))
}

// installOnce installs a package from npm unless it is installed, and returns the path of a file
// below node_modules.
func installOnce(t testing.TB, pkg, file string) string {
	t.Helper()
	path := filepath.Join(folder(t, pkg), "node_modules", file)
	if _, err := os.Stat(path); err == nil {
		return path
	}
	out, err := exec.CommandContext(t.Context(), "npm", "install", "--no-audit", "--no-fund", "--prefix", folder(t, pkg), pkg).CombinedOutput()
	if err != nil {
		t.Fatalf("npm install %s: %v\n%s", pkg, err, out)
	}
	return path
}
