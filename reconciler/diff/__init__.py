"""What the world needs: for each object that something happened to, one need. Pure; writes nothing and places nothing."""
