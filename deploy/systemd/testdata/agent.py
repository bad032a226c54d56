"""Says how it is in the sandbox of a unit."""
import ctypes, json, mmap, os, socket, sys

def can(path):
    try:
        with open(path, "w") as f:
            f.write("x")
        return "written"
    except OSError:
        return "not written"

envelope = json.loads(sys.stdin.readline())
secrets = [n for n in os.environ if n.startswith(("NOTIFY_", "WATCHDOG_", "CREDENTIALS_", "NANOBOT_CHANNELS"))]
socket.getaddrinfo("localhost", 80)
# What ctypes callbacks and just-in-time compilers do.
mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
ctypes.CFUNCTYPE(ctypes.c_int)(lambda: 1)()
print(json.dumps({"type": "message", "text": ", ".join([
    "workspace: " + can(os.path.join(envelope["user_data_dir"], "x")),
    "system: " + can("/etc/x"),
    "secrets in the environment: " + (", ".join(secrets) or "none"),
    "root: " + ("yes" if os.getuid() == 0 else "no"),
    "cores: " + ("some" if os.cpu_count() else "none"),
    "network: yes", "code as it runs: yes"])}), flush=True)
