"""What tests run in, and what they share.

How they are run: their JVMs, the two halves of `./dev test`, and what each of them costs. What many
of them stand on: a clock, a watched store, an engine that only keeps the books, what a publisher
writes, a world in memory of all these, and a storage account. (`tests/zone.py` is a landing zone on
disk with the real engine.)
"""
