"""Real Git servers on loopback, started in a folder of their own and stopped by pid. Tests and benchmarks use them."""
