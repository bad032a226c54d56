-- Whether the answer to a question must not stay in the state. Such an answer is NULL again once its turn has it.
ALTER TABLE question ADD COLUMN secret INTEGER NOT NULL DEFAULT 0;
CREATE INDEX question_secret ON question (inbound) WHERE secret = 1 AND answer IS NOT NULL;
-- Whether a person has sent the message, which is to be deleted because it contains a secret.
ALTER TABLE transient ADD COLUMN incoming INTEGER NOT NULL DEFAULT 0;
