-- A person may be asked about what a tool gave, too, before the model is told. `details` is what the
-- question shows beside the call (JSON); `held` is what an approval changes (JSON): the item that it lets
-- the model see, and the variable that it makes. It goes when somebody has decided.

ALTER TABLE approvals
    ADD COLUMN kind text COLLATE "C" NOT NULL DEFAULT 'execution' CONSTRAINT approvals_kind CHECK (kind IN
        ('execution', 'result')),
    ADD COLUMN details text,
    ADD COLUMN held text;
