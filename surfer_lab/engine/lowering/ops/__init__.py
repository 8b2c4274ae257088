"""The tables: what each aten op costs. One file a kind of op; `op_table` puts them together."""
