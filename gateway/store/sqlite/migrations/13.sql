-- Whether only approvers may answer a question. Until now such a question was known by its first character alone.
ALTER TABLE question ADD COLUMN approval INTEGER NOT NULL DEFAULT 0;
UPDATE question SET approval = 1 WHERE substr(text, 1, 1) = '🔐';
