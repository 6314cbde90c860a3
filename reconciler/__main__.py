"""`gitvirt`, and `python -m reconciler`. Owns the time until the command line is loaded: Ctrl-C ends it without a word."""

import os
import signal
import sys

_CODE = 128 + signal.SIGINT


def main() -> int:
    """As `reconciler.cli.main`, whose modules take longer to load than many a verb to run."""
    before = signal.getsignal(signal.SIGINT)
    if (
        before is not signal.SIG_IGN
    ):  # who started us with interrupts ignored, as nohup does, wants them ignored
        signal.signal(signal.SIGINT, lambda _number, _frame: os._exit(_CODE))
    from reconciler import cli

    signal.signal(signal.SIGINT, before)
    try:
        return cli.main()
    except KeyboardInterrupt:  # in the moment before the command line takes over
        return _CODE


if __name__ == "__main__":
    sys.exit(main())
