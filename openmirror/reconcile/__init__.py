"""The reconcile loop of one table: observe what was sent and applied, plan, and act."""
