"""`python -m reconciler` is `gitvirt`."""

import sys

from reconciler.cli import main

if __name__ == "__main__":
    sys.exit(main())
