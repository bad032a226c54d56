package process

import (
	"os"
	"os/signal"
	"sync"
)

// catchIgnoredSignals catches the signals that this program has inherited as ignored, such as
// SIGHUP under nohup and SIGINT in the background of a script, and drops them: execve resets
// signals that are caught and keeps those that are ignored, and an interactive shell that ignores
// SIGHUP outlives its terminal.
var catchIgnoredSignals = sync.OnceFunc(func() {
	for _, s := range ignoredSignals() {
		signal.Notify(make(chan os.Signal, 1), s)
	}
})
