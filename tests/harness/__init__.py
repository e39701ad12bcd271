"""What tests run in: their JVMs, the two halves of `./dev test`, and what each of them costs."""
