//go:build !linux

package peersocket

import (
	"errors"
	"net"
	"os"
)

const supported = false

func newConn(u *net.UnixConn) *Conn { return &Conn{UnixConn: u, err: errors.ErrUnsupported} }

func isAlive(*os.File) bool { return false }
