-- The fold of a turn's board that the network has not confirmed: 0: there is none, 1: the board is to be folded, 2: a message is
-- sent instead. owner is the member that does it.
ALTER TABLE details ADD COLUMN summary TEXT NOT NULL DEFAULT '';
ALTER TABLE details ADD COLUMN required INTEGER NOT NULL DEFAULT 0;
ALTER TABLE details ADD COLUMN fold INTEGER NOT NULL DEFAULT 0;
ALTER TABLE details ADD COLUMN owner TEXT NOT NULL DEFAULT '';
CREATE INDEX details_fold ON details (inbound) WHERE fold > 0;
-- When a board was sent; 0: the message is no board.
ALTER TABLE transient ADD COLUMN board INTEGER NOT NULL DEFAULT 0;
