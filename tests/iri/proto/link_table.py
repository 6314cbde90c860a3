"""The services of the link as a table, written by hand: numbers and types that other programs rely on, so a slip in a .proto file meets
a second opinion. A field never changes its number or its type; new ones are added here and there.

A message is "number name type" a field. `*` repeats, `a>b` is a map, `name:` begins the fields of a oneof, `.` ends it. A name without a dot
is of this package.
"""

from __future__ import annotations

TIME, DURATION = "google.protobuf.Timestamp", "google.protobuf.Duration"

AGENT_MESSAGES = {
    "AgentMessage": "message: 1 hello Hello; 2 heartbeat Heartbeat; 3 report_moved ReportMoved; 4 node_status NodeStatus; 5 usage Usage; "
    "6 offer_reply OfferReply; 7 pipe_refused PipeRefused; 8 leaving Leaving .",
    "Hello": "1 fleet string; 2 poollet string; 3 host_id string; 4 instance string; 5 versions string>string",
    "Heartbeat": f"1 number uint64; 2 answers uint64; 3 report_commit string; 4 git_interval {DURATION}",
    "ReportMoved": "1 commit string",
    "NodeStatus": f"1 architecture string; 2 operating_system string; 3 kernel_version string; 4 hypervisor string; "
    f"5 hypervisor_version string; 6 booted {TIME}; 7 processors *Processor; 8 memory_bytes int64; 9 disks *Disk; "
    "10 network_devices *NetworkDevice; 11 firmware Firmware",
    "Processor": "1 model string; 2 socket int32; 3 cores int32; 4 threads int32; 5 max_megahertz int64",
    "Disk": "1 name string; 2 model string; 3 serial string; 4 size_bytes int64; 5 is_rotational bool",
    "NetworkDevice": "1 name string; 2 mac string; 3 driver string; 4 megabits_per_second int64",
    "Firmware": "1 vendor string; 2 version string; 3 date string; 4 is_uefi bool",
    "Usage": f"1 time {TIME}; 2 node NodeUsage; 3 machines *MachineUsage",
    "NodeUsage": f"1 cpu_time {DURATION}; 2 load double; 3 memory_used_bytes int64; 4 disks *DiskUsage; 5 networks *NetworkUsage; "
    "6 cpus int64; 7 memory_bytes int64",
    "MachineUsage": f"1 uid string; 2 namespace string; 3 name string; 4 cpu_time {DURATION}; 5 memory_used_bytes int64; "
    "6 disks *DiskUsage; 7 networks *NetworkUsage; 8 guest_memory_bytes int64; 9 guest_available_bytes int64",
    "DiskUsage": "1 name string; 2 read_bytes int64; 3 written_bytes int64; 4 reads int64; 5 writes int64; 6 used_bytes int64",
    "NetworkUsage": "1 name string; 2 received_bytes int64; 3 sent_bytes int64; 4 received_packets int64; 5 sent_packets int64",
    "OfferReply": "1 offer_id string; 2 answers *OfferAnswer",
    "OfferAnswer": "1 uid string; 2 is_accepted bool; 3 reasons *Reason",
    "Reason": "1 reason string; 2 message string; 3 resource string; 4 need string; 5 have string",
    "PipeRefused": "1 pipe_id string; 2 reason Reason",
    "Leaving": "1 cause Leaving.Cause",
    "ServerMessage": "message: 1 welcome Welcome; 2 heartbeat Heartbeat; 3 live_moved LiveMoved; 4 offer Offer; 5 open_pipe OpenPipe; "
    "6 close_pipe ClosePipe .",
    "Welcome": f"1 instance string; 2 version string; 3 heartbeat_interval {DURATION}; 4 usage_interval {DURATION}; "
    "5 number uint64",
    "LiveMoved": "1 commit string",
    "Offer": f"1 id string; 2 objects *OfferedObject; 3 reserve {DURATION}",
    "OfferedObject": "1 kind string; 2 namespace string; 3 name string; 4 uid string; 5 pool string; 6 epoch int64; "
    "8 manifest bytes",
    "OpenPipe": "1 id string; kind: 2 console ConsoleTarget; 3 logs LogsTarget; 4 forward ForwardTarget .; 5 client string",
    "ClosePipe": "1 id string",
    "MachineTarget": "1 uid string; 2 namespace string; 3 name string",
    "ConsoleTarget": "1 machine MachineTarget",
    "LogsTarget": "1 machine MachineTarget; 2 tail_lines int64; 3 follow bool; 4 previous bool",
    "ForwardTarget": "1 machine MachineTarget; 2 port int32",
    "Chunk": "1 pipe_id string; 2 data bytes; 3 terminal_size TerminalSize; 4 is_end bool; 5 exit_status ?int32; 6 problem Reason",
    "TerminalSize": "1 columns int32; 2 rows int32",
    "JoinRequest": "1 token string; 2 poollet string; 3 certificate bytes; 4 ssh_public_key string; 5 proof bytes; 6 age *string",
    "JoinResponse": "1 branch string; 2 commit string; 3 is_merged bool; 4 reason string",
}

CONTROLLER_MESSAGES = {
    "InstanceRef": "1 namespace string; 2 name string",
    "InstanceStatus": "1 instance InstanceRef; 2 uid string; 3 state InstanceState; 4 pool string; 5 poollet string; "
    f"6 refusals *PoolRefusal; 7 reasons *Reason; 8 ips *string; 9 commit string; 10 since {TIME}",
    "PoolRefusal": "1 pool string; 2 reasons *Reason",
    "ScheduleRequest": "1 manifest bytes; 2 path string; 3 subject string; 4 request_key string; 5 dry_run bool",
    "UpdateRequest": "1 manifest bytes; 2 subject string; 3 base string; 4 allow_destruction bool; 5 dry_run bool",
    "UpdateResponse": "1 commit string; 2 effects *string",
    "StopRequest": "1 instance InstanceRef; 2 subject string",
    "StopResponse": "1 commit string",
    "DestroyRequest": "1 instance InstanceRef; 2 subject string; 3 uid string",
    "DestroyResponse": "1 commit string; 2 effects *string",
    "Node": f"1 name string; 2 state NodeState; 3 since {TIME}; 4 pools *NodePool; 5 hardware NodeStatus; 6 usage NodeUsage; "
    f"7 last_sign_of_life {TIME}; 8 is_linked bool; 9 version string",
    "NodePool": "1 name string; 2 kind string; 3 labels string>string; 4 capacity string>int64; 5 allocatable string>int64; "
    "6 charged string>int64; 7 is_schedulable bool; 8 reasons *Reason",
    "ListNodesRequest": "1 selector string>string",
    "ListNodesResponse": "1 nodes *Node",
    "WatchNodesRequest": "1 selector string>string",
    "NodeEvent": "1 cause NodeEvent.Cause; 2 node Node",
    "WatchInstancesRequest": "1 namespaces *string; 2 selector string>string",
    "InstanceEvent": "1 cause InstanceEvent.Cause; 2 status InstanceStatus; 3 is_expected bool",
    "ConsoleRequest": "1 instance InstanceRef; 2 chunk Chunk",
    "LogsRequest": "1 instance InstanceRef; 2 tail_lines int64; 3 follow bool; 4 previous bool",
    "ForwardRequest": "1 instance InstanceRef; 2 port int32; 3 chunk Chunk",
    "UsageRequest": "1 nodes *string; 2 instances *InstanceRef; 3 follow bool",
    "UsageReport": "1 node string; 2 usage Usage; 3 previous Usage",
}

ENUMS = {
    "Leaving.Cause": "CAUSE_UNSPECIFIED CAUSE_RESTART CAUSE_LEAVE",
    "InstanceState": "INSTANCE_STATE_UNSPECIFIED INSTANCE_STATE_ACCEPTED INSTANCE_STATE_PLACED INSTANCE_STATE_RUNNING "
    "INSTANCE_STATE_STOPPED INSTANCE_STATE_CRASHED INSTANCE_STATE_UNSCHEDULABLE INSTANCE_STATE_UNKNOWN INSTANCE_STATE_TERMINATING "
    "INSTANCE_STATE_GONE INSTANCE_STATE_BLOCKED",
    "NodeState": "NODE_STATE_UNSPECIFIED NODE_STATE_READY NODE_STATE_UNCONFIRMED NODE_STATE_LOST NODE_STATE_LEFT",
    "NodeEvent.Cause": "CAUSE_UNSPECIFIED CAUSE_INITIAL CAUSE_SYNCED CAUSE_JOINED CAUSE_LEFT CAUSE_TIMEOUT CAUSE_BACK CAUSE_CHANGED "
    "CAUSE_REMOVED",
    "InstanceEvent.Cause": "CAUSE_UNSPECIFIED CAUSE_INITIAL CAUSE_SYNCED CAUSE_PLACED CAUSE_STARTED CAUSE_STOPPED CAUSE_CRASHED CAUSE_LOST "
    "CAUSE_BACK CAUSE_GONE CAUSE_CHANGED",
}

# Call: what it takes -> what it returns; `*` is a stream.
SERVICES = {
    "Agent": {
        "Connect": "*AgentMessage -> *ServerMessage",
        "Pipe": "*Chunk -> *Chunk",
        "Join": "JoinRequest -> JoinResponse",
    },
    "Controller": {
        "Schedule": "ScheduleRequest -> *InstanceStatus",
        "Update": "UpdateRequest -> UpdateResponse",
        "Stop": "StopRequest -> StopResponse",
        "Destroy": "DestroyRequest -> DestroyResponse",
        "ListNodes": "ListNodesRequest -> ListNodesResponse",
        "WatchNodes": "WatchNodesRequest -> *NodeEvent",
        "WatchInstances": "WatchInstancesRequest -> *InstanceEvent",
        "Console": "*ConsoleRequest -> *Chunk",
        "Logs": "LogsRequest -> *Chunk",
        "Forward": "*ForwardRequest -> *Chunk",
        "Usage": "UsageRequest -> *UsageReport",
    },
}
