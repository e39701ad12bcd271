"""Envelopes of connectors whose databases cannot be run here, by the connectors' own classes.

Run by hand, with a connector's plugin unpacked into a folder, Java, and `pip install JPype1`:

    python -m tests.cdc.decoding.minting.sqlserver PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.sqlserver_types PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.sqlserver_streaming PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.oracle PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.oracle_types PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.oracle_streaming PLUGIN_FOLDER
    python -m tests.cdc.decoding.minting.asked_snapshots CONNECTOR PLUGIN_FOLDER
"""
