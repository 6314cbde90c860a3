"""What viewers of the API see of the World after a tick: its nodes and its machines, as immutable values. Pure.

    instance        a machine of the World → InstancePicture: state, pool, reasons
    node            a poollet and its pools → NodePicture
    changes         the same one before and after → the cause of an event, and whether a commit asked for it
    fleet_picture   all of them; PictureKeeper paints again what a tick touched, and nothing else

Theory of operation
-------------------
The thread that ticks paints, hands a PictureNews over, and never waits for whoever looks at it. The picture costs what changed: a tick names
the keys that it looked at, and only those are painted. An equal picture is the same object as before, so a viewer compares by identity.

What is painted is what is known now: the newest report over what `live` has, by the same rules that decide what becomes of a report.

Limits: decides nothing, and nothing decides by it. Reads the View alone; knows neither gRPC nor who looks.
"""
