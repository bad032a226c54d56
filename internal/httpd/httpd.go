// Package httpd is the HTTP server that all pages and APIs of the program share: listening and
// graceful shutdown, protection against DNS rebinding and cross-site requests, and sign-in by
// one-time link, cookie or token. It knows nothing of the handlers.
package httpd

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"time"

	"go.uber.org/zap"
)

const (
	// Slow clients are disconnected after these times.
	readHeaderTimeout = 10 * time.Second
	idleTimeout       = 2 * time.Minute
	maxHeaderBytes    = 16 << 10
	bodyTimeout       = 30 * time.Second
	stopTimeout       = 5 * time.Second
)

// Server is an HTTP server that is listening; Listen returns one.
type Server struct {
	// BodyTimeout is how long a request's body may take, unless its handler sets a deadline.
	BodyTimeout time.Duration
	// StopTimeout is how long running requests may continue when the server stops. Then their
	// connections are closed.
	StopTimeout time.Duration

	listener net.Listener
	server   *http.Server
	log      *zap.Logger
}

// Listen listens on an address, so that an address in use is reported before anything else starts.
// Run serves.
func Listen(ctx context.Context, address string, log *zap.Logger) (*Server, error) {
	listener, err := new(net.ListenConfig).Listen(ctx, "tcp", address)
	if err != nil {
		return nil, err
	}
	clients, err := zap.NewStdLogAt(log, zap.DebugLevel) // mistakes of clients
	if err != nil {
		return nil, errors.Join(err, listener.Close())
	}
	return &Server{BodyTimeout: bodyTimeout, StopTimeout: stopTimeout, listener: listener, log: log, server: &http.Server{
		ReadHeaderTimeout: readHeaderTimeout, IdleTimeout: idleTimeout, MaxHeaderBytes: maxHeaderBytes, ErrorLog: clients,
	}}, nil
}

// Addr returns the address that the server listens on.
func (s *Server) Addr() net.Addr { return s.listener.Addr() }

// Close stops listening, if Run was never called.
func (s *Server) Close() error { return s.listener.Close() }

// OnStop registers f to be called when the server starts to stop, for handlers that would not
// return by themselves. It must be called before Run.
func (s *Server) OnStop(f func()) { s.server.RegisterOnShutdown(f) }

// Run serves h until ctx ends. Then it accepts no new requests and waits for the running ones.
func (s *Server) Run(ctx context.Context, h http.Handler) error {
	s.server.Handler = recoverPanics(h, s.BodyTimeout, s.log)
	s.log.Info("listening", zap.Stringer("address", s.Addr()))
	stopped := make(chan struct{})
	defer context.AfterFunc(ctx, func() {
		defer close(stopped)
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), s.StopTimeout)
		defer cancel()
		if s.server.Shutdown(ctx) != nil {
			s.log.Warn("requests cut off, they did not end in time", zap.Duration("after", s.StopTimeout))
			_ = s.server.Close()
		}
	})()
	if err := s.server.Serve(s.listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve: %w", err)
	}
	<-stopped
	return nil
}
