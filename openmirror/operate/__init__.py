"""What an operator asks and sees: requests, status, history and validation."""
