"""A plan as one commit: what people wrote with what the reconciler keeps spliced in, and a message that says what was done.

Pure but for reading blobs. Only paths that a change concerns are looked at, and only those that come out differently are
written. Limits: decides nothing about objects, reads blobs alone, and does not push.

document_paths (which file) -> file_texts (which bytes; yaml_documents cuts and joins) -> message -> drafting (one Draft)

Theory of operation
-------------------
A file of the target branch is a function of the source's file at that path and of the records of the objects in it. There are four kinds:

    file on live                   its bytes
    of the source, and usable      what people wrote, with metadata.uid, the pool reference and status spliced in
    of the source, but frozen      what live has, with records spliced in: the last good content
    left the source                what live has, until the last object in it is gone
    under .gitvirt/                documents of the reconciler alone: announced pools, generated, retained, deleted and frozen objects

The same view and no change give the same bytes, so a converged fleet writes nothing, and any reconciler writes what another one would.

Must never happen: a byte of a person's file changes that no record asks for; a document is on two paths, or on none, before its host has
confirmed that its object is gone; one file that cannot be edited holds up the others (it stays as it is, with a Problem).
"""
