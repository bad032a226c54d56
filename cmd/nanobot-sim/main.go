// Command nanobot-sim serves a chat network on loopback to one bot under development, in any
// framework: it refuses what the real network refuses, lets people write as a script or a test
// says, and shows over HTTP what the bot has sent. docs/kit.md describes it.
package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"nanobot/channels/channelstest/fakenet"
)

func main() {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	status := run(ctx, os.Args[1:], os.Stdout, os.Stderr)
	stop()
	os.Exit(status)
}

// The exit statuses of a failure and of wrong use.
const (
	exitFailed = 1
	exitUsage  = 2
)

// network is a simulated network. Its methods may be called from any goroutine.
type network interface {
	// hello returns the fields of the first line that only this network has.
	hello(address string) map[string]any
	// check returns an error if people cannot do this on the network, and act does it.
	check(a action) error
	act(a action) (result map[string]any, err error)
	// sent waits until the bot has made a call with a number above after, and returns these calls.
	sent(after int, wait time.Duration) []sentCall
	// awaitBot waits until the bot is connected. It reports false if the network is closed first.
	awaitBot(timeout time.Duration) bool
	// sends reports whether sent returns the calls of a method.
	sends(method string) bool
	// faults are the faults that have a form of their own on this network.
	faults() map[string]fakenet.Fault

	SetFaultByName(decide func(method string) fakenet.Fault)
	FailNext(method string, faults ...fakenet.Fault)
	Violations() []string
	Ended() int
	Close()
}

// networks open a network for a bot with a token, "" for the default one.
var networks = map[string]func(token string) (network, http.Handler, error){
	"telegram": openTelegram,
	"discord":  openDiscord,
}

const usage = `nanobot-sim serves a chat network on loopback to a bot under development.

Usage: nanobot-sim telegram|discord [options]

The first line on stdout is JSON with the address, the token and what else a bot
needs. Tests read GET /_sim/sent and /_sim/violations, and let people act with
POST /_sim/messages, /_sim/presses and /_sim/commands.

`

// options are the command line.
type options struct {
	network, listen, token string
	people, faults         string
	seed                   uint64
}

// parse reads the command line. It has printed the error.
func parse(args []string, stderr io.Writer) (o options, err error) {
	flags := flag.NewFlagSet("nanobot-sim", flag.ContinueOnError)
	flags.SetOutput(stderr)
	flags.StringVar(&o.listen, "listen", "127.0.0.1:0", "the `address` to listen on; port 0 takes a free one")
	flags.StringVar(&o.token, "token", "", "the bot's `token`; there is a default")
	flags.StringVar(&o.people, "people", "", "a JSONL `file` of what people do once the bot is connected")
	flags.StringVar(&o.faults, "faults", "", "`kinds` of faults that one call in five meets, with commas between: "+faultKinds)
	flags.Uint64Var(&o.seed, "seed", 1, "the `number` that decides which calls meet a fault")
	flags.Usage = func() { fmt.Fprint(stderr, usage); flags.PrintDefaults() }
	if len(args) > 0 && networks[args[0]] != nil {
		o.network, args = args[0], args[1:]
	}
	err = flags.Parse(args)
	switch {
	case err != nil:
	case o.network == "":
		err = errors.New("the first argument is the network: telegram or discord")
	case flags.NArg() > 0:
		err = fmt.Errorf("there is no argument %q", flags.Arg(0))
	}
	if err != nil && !errors.Is(err, flag.ErrHelp) {
		fmt.Fprintln(stderr, "nanobot-sim:", err)
	}
	return o, err
}

func run(ctx context.Context, args []string, stdout, stderr io.Writer) int {
	o, err := parse(args, stderr)
	switch {
	case errors.Is(err, flag.ErrHelp):
		return 0
	case err != nil:
		return exitUsage
	}
	n, handler, err := networks[o.network](o.token)
	if err == nil {
		defer n.Close()
		err = setFaults(n, o)
	}
	var script []scripted
	if err == nil && o.people != "" {
		script, err = readScript(o.people, n)
	}
	if err != nil {
		fmt.Fprintln(stderr, "nanobot-sim:", err)
		return exitUsage
	}
	if err := serve(ctx, n, handler, o, script, stdout, stderr); err != nil {
		fmt.Fprintln(stderr, "nanobot-sim:", err)
		return exitFailed
	}
	return 0
}

// serve serves the network until ctx ends.
func serve(
	ctx context.Context, n network, api http.Handler, o options, script []scripted, stdout, stderr io.Writer,
) error {
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", o.listen)
	if err != nil {
		return fmt.Errorf("listen: %w", err)
	}
	address := "http://" + listener.Addr().String()
	hello := n.hello(address)
	hello["network"], hello["address"] = o.network, address
	mux := http.NewServeMux()
	mux.Handle("/", api)
	mux.Handle("/_sim/", guard(o.listen, control(n)))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: 10 * time.Second}
	ctx, cancel := context.WithCancel(ctx)
	var work sync.WaitGroup
	var failed error
	work.Go(func() {
		if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
			failed = err
		}
		cancel()
	})
	work.Go(func() { play(ctx, n, script, stderr) })
	_ = json.NewEncoder(stdout).Encode(hello)
	<-ctx.Done()
	n.Close() // ends all waits, so that the server has no call in progress
	closed := server.Close()
	work.Wait()
	return cmp.Or(failed, closed)
}
