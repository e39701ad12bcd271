"""What the product does, between the pure decisions and the ports."""
