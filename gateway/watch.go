package gateway

import "nanobot/gateway/events"

// tell tells who watches.
func (g *Gateway) tell(e events.Event) { events.Func(g.o.Watch).Tell(e) }
