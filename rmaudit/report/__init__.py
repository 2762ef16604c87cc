"""From findings to what people and machines read. results.json is the source of truth."""
