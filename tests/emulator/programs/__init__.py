"""What other programs do with an account, each to be run as a process: `python -m … URL KEY`.

They would end the process of the tests, or leave loops and threads in it.
"""
