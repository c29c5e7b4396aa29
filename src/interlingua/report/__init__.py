"""Tables -> figures -> one HTML page. Knows tables, and nothing of where they come from."""
