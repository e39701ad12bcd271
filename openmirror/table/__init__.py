"""One table's state: paths, Delta log, control document, batch records and ledger."""
