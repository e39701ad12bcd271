"""What changes a control document, one module for each thing that can happen to a table.

Each is a pure function from a document, or the observed state with it, and what happened to the
document afterwards. Services read, plan, take the new document from here and write it under its
ETag; no other code makes one out of another (`tests/unit/test_documents_change_in_one_place.py`).

    observed   what an observation adds, and what its plan decides
    decided    a batch was chosen: nothing else of its epoch may come before it
    adopted    an operator says that a copied or renamed folder is the same table
    refused    a file's data broke a rule
    failed     an attempt ended in an error
    cleaned    files left the folder, archives and dropped tables went
    dropped    the folder is gone, and so is the table
    restored   a dropped table is back in its place
    requested  an operator asked for something
    rebuilt    the document was lost, and is rebuilt
    registered the catalog has the table, or could not be given it
    confirmed  an operator allowed drops (the mirror's document)

`incarnations` and `history` are used by several of them: records of earlier incarnations, acts,
problems that are over.
"""
