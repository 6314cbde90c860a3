"""Encrypted Secrets: SOPS files with age recipients, and single values in ASCII armor of age.

    recipients     who can open: public keys as text
    sealed_error   why an encrypted value cannot be opened
    age_armor      bytes ↔ armored age, by recipients and identities
    sops_values    one value ↔ `ENC[...]`
    sops_document  a document with `sops:` → its values, with the MAC verified
    readable_text  what stays readable, and whether a value is in it
    sops_text      text of a Secret ↔ the same text encrypted, comments included

Interchangeable with the programs `sops` and `age`: what they write opens here, and the other way round. Private keys are arguments
(`Identities`), so whoever has none can still say who could open a file, and nothing else.

Limits: opens no file, keeps no key, knows no kind but by the names `data` and `stringData`. Must never happen: a value or a private key
in an error or in a text made from one of the types.
"""
