"""What people declare and hosts announce of a pool in, PoolState out: its grant, its room, and whether it is ready."""
