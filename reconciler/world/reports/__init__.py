"""Reports of poollets in, what counts of them out: who may report what, how alive its host is, and the status from it.

Data passes: reports (refs -> HostReport, ObjectReport), heartbeat (changes of a ref -> whether its host lives), signed (its
commit -> whether it may be used), authority (who may say what -> AcceptedReports), status_update (an accepted report -> the
status of an object). recovery_wait says which hosts a lost `live` must hear before anything is written.

A report is a statement by a host, and a host may be broken, old or hostile. So a report orders nothing. It changes status; it
confirms an end that was ordered; it ends an assignment of the reporting host itself; when `live` was lost, it gives back what
that said of the host's own pools.
"""
