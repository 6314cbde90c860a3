"""Git as the database: the only place that knows Git."""
