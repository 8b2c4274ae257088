"""timm_table: steps of timm's networks from their names alone, kept on disk, for every row of a benchmark table.

- `make_captures(keys, store, workers=2)`: capture what is missing; resumable.
- `CaptureStore(folder)`: the captures; `cache_folder()` is the user's own folder for it.
- `read_rows(data)`, `key_of(row)`, `keys_of(rows)`: which capture each row needs.

Needs timm (the `evaluate` extra); imported only where a network is built.
"""
