"""What `plan` and `explain` share: the World that they look at (`plan_input`), how full pools become
(`pool_usage`), and the formats of a Plan (`as_text`, `as_markdown`, `as_json`, with what they say alike in
`phrases`).

Limits: nothing here decides. A format is a function of the Plan alone, reads no repo, and prints what people and
hosts wrote only after `printable` or the escapes of Markdown.
"""
