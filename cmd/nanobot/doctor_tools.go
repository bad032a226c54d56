package main

import (
	"context"
	"io"
	"os"
	"sync"

	"go.uber.org/zap"

	"nanobot/channels"
	"nanobot/config"
	"nanobot/gateway/tools"
	"nanobot/gateway/toolsocket"
	"nanobot/terminal/process"
)

// serveTrialTools is doctor.Options.ServeTools.
func serveTrialTools(cfg *config.Config, supervisor *process.Supervisor) (string, <-chan struct{}, func()) {
	log, connected := zap.NewNop(), make(chan struct{})
	l := openSocket(cfg, socketParents(os.Getenv, os.Geteuid() == 0), log)
	if l == nil {
		return "", connected, func() {}
	}
	ctx, cancel := context.WithCancel(context.Background())
	var once sync.Once
	var served sync.WaitGroup
	served.Go(func() {
		_ = toolsocket.Run(ctx, l, toolsocket.Options{
			OwnerOf: supervisor.OwnerOf, Log: log,
			ChatOfToken: func(context.Context, string) (channels.Chat, bool, error) { return channels.Chat{}, false, nil },
			Serve: func(ctx context.Context, conn io.ReadWriteCloser, _ toolsocket.Caller) error {
				once.Do(func() { close(connected) })
				return tools.Serve(ctx, conn, tools.Options{Log: log})
			},
		})
	})
	return socketPath(l), connected, func() {
		cancel()
		served.Wait()
		closeSocket(l)
	}
}
