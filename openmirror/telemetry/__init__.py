"""Telemetry by OpenTelemetry: operations as custom events, figures as metrics, progress as logs."""
