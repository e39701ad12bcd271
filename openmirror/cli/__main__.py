"""`python -m openmirror.cli`."""

from openmirror.cli import main

main()
