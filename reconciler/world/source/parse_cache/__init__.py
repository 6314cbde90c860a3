"""What files held when they were parsed before, kept on disk by blob, so that a start does not parse them again."""
