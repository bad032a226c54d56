package postgres

import (
	"fmt"

	"github.com/jackc/pgx/v5"
)

// ConnConfig returns how to connect to the bot's schema, for what is stored in it beside the state.
// Open has created the schema.
func ConnConfig(o Options) (*pgx.ConnConfig, error) {
	s := &state{migrations: current(), schema: "nanobot_" + o.Bot, member: o.Name, attempt: o.TTL / 5}
	c, err := s.parseURL(o)
	if err != nil {
		return nil, fmt.Errorf("gateway.store: %w", err)
	}
	c.ConnConfig.RuntimeParams["search_path"] = pgx.Identifier{s.schema}.Sanitize()
	return c.ConnConfig, nil
}
