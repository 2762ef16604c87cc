"""Layout: how a prompt and an answer become one row of token ids."""
