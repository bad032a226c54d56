-- What a turn used: the peak of its memory in bytes, and its processor time in microseconds.
ALTER TABLE inbox ADD COLUMN memory INTEGER NOT NULL DEFAULT 0;
ALTER TABLE inbox ADD COLUMN cpu INTEGER NOT NULL DEFAULT 0;
