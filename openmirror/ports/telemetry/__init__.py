"""The telemetry port and its values: operations, status, runner starts, dead letters."""
