-- The agent that answers an inbound message. Until now there was one, which is called default.
ALTER TABLE inbox ADD COLUMN agent TEXT NOT NULL DEFAULT 'default';
