"""What is measured, each case in a file of its own."""
