"""What every served call has in common: decode the request, call, encode the response, translate errors.

A service is a table of plain functions from request to response; this module makes gRPC handlers of them.

    the function                  the caller gets
    returns a message             its bytes; ResourceExhausted when they are too large for a message
    raises an IRIError            its status and message, shortened to what fits into the headers
    raises anything else          Internal with the name of the exception; the log has the stack, never the text

Must never happen: a part of a request or a response is logged or quoted in an unexpected error, because they contain
keys and passwords.
"""

from __future__ import annotations

import logging
import re
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any, NoReturn

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from iri.errors import Internal, InvalidArgument, IRIError, ResourceExhausted
from iri.wire.calls import read_assignment
from iri.wire.connection import LARGEST_MESSAGE_BYTES
from iri.wire.error_status import DETAILS, encode_details, status_code

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class ObjectCall:
    """A call about one object: its function gets the assignment that the caller named, beside the request."""

    act: Callable[[Any, str], Message]


Call = Callable[[Any], Message | bytes] | ObjectCall
# A stream gets a function that registers a callback for the end of the connection.
StreamCall = Callable[[Any, Callable[[Callable[[], None]], object]], Iterator[Message]]
Calls = Mapping[str, Call | StreamCall]
CallWrapper = Callable[[str], AbstractContextManager[None]]

# A status travels in headers of 8 KiB in all. The message is in them twice, percent-encoded (three times as long where it
# is not ASCII), and in base64 within the details: clients in Go read it from the details where there are any.
LONGEST_MESSAGE_BYTES = 1500


def run_unwrapped(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def list_calls(service: ServiceDescriptor, implementation: object) -> Mapping[str, Any]:
    """The methods of an object that has one for each call of the service: `set_clock` for SetClock."""
    names = {method.name: re.sub("(?<!^)([A-Z])", r"_\1", method.name).lower() for method in service.methods}
    return {call: getattr(implementation, name) for call, name in names.items()}


def build_handlers(
    service: ServiceDescriptor, calls: Calls, wrapper: CallWrapper = run_unwrapped
) -> grpc.GenericRpcHandler[bytes, bytes]:
    """Handlers for exactly the calls of the service. `wrapper` may delay or fail each, before or after its effect."""
    missing = {method.name for method in service.methods} ^ set(calls)
    if missing:
        raise ValueError(f"{service.full_name} and its table differ in {', '.join(sorted(missing))}")
    table = {
        method.name: build_streaming(method, calls[method.name], wrapper)
        if method.server_streaming
        else build_unary(method, calls[method.name], wrapper)
        for method in service.methods
    }
    return grpc.method_handlers_generic_handler(service.full_name, table)


def build_unary(
    method: MethodDescriptor, call: Any, wrapper: CallWrapper
) -> grpc.RpcMethodHandler[bytes, bytes]:
    """A handler for a call with one response."""
    request_type = message_factory.GetMessageClass(method.input_type)

    def serve(data: bytes, context: grpc.ServicerContext) -> bytes:
        # A caller that disconnected while its call was queued has given the call up.
        if not context.is_active():
            context.abort(grpc.StatusCode.CANCELLED, "the caller has disconnected")
        try:
            with wrapper(method.name):
                request = decode_request(request_type, data)
                if isinstance(call, ObjectCall):
                    return encode_response(call.act(request, read_assignment(context.invocation_metadata())))
                return encode_response(call(request))
        except IRIError as error:
            abort_call(context, method, error)
        except Exception as error:  # noqa: BLE001 - the border: the text of a bug may quote the request
            abort_call(context, method, report_bug(method, error))

    return grpc.unary_unary_rpc_method_handler(serve)


def build_streaming(
    method: MethodDescriptor, call: Any, wrapper: CallWrapper
) -> grpc.RpcMethodHandler[bytes, bytes]:
    """A handler for a call with a stream of responses; only its start is wrapped."""
    request_type = message_factory.GetMessageClass(method.input_type)

    def serve(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            with wrapper(method.name):
                responses = call(decode_request(request_type, data), context.add_callback)
            for response in responses:
                yield encode_response(response)
        except IRIError as error:
            abort_call(context, method, error)
        except Exception as error:  # noqa: BLE001 - as above
            abort_call(context, method, report_bug(method, error))

    return grpc.unary_stream_rpc_method_handler(serve)


def decode_request(request_type: type[Message], data: bytes) -> Message:
    """InvalidArgument for bytes that are not such a message. They are never quoted: see above."""
    try:
        return request_type.FromString(data)
    except DecodeError:
        raise InvalidArgument(f"the request is not a valid {request_type.DESCRIPTOR.full_name}") from None


def encode_response(response: Message | bytes) -> bytes:
    """Bytes pass through: lists arrive encoded."""
    data = response if isinstance(response, bytes) else response.SerializeToString()
    if len(data) > LARGEST_MESSAGE_BYTES:
        raise ResourceExhausted(
            f"the response takes {len(data) / 2**20:.1f} MiB and may hold {LARGEST_MESSAGE_BYTES // 2**20} MiB"
        )
    return data


def report_bug(method: MethodDescriptor, error: Exception) -> Internal:
    """Logs where it happened, not the text: the text of an unexpected exception may quote the request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("unexpected error call=%s error=%s\n%s", method.name, type(error).__name__, frames)
    return Internal(
        f"{method.name} failed unexpectedly ({type(error).__name__}); the runtime's log has the stack"
    )


def abort_call(context: grpc.ServicerContext, method: MethodDescriptor, error: IRIError) -> NoReturn:
    """Raises gRPC's own exception, which ends the handler."""
    code = status_code(error)
    log.debug("refused call=%s code=%s", method.name, code.name)
    message = shorten(str(error))
    if (details := encode_details(error, message)) is not None:
        context.set_trailing_metadata(((DETAILS, details),))
    context.abort(code, message)


def shorten(message: str) -> str:
    """At most so many bytes, without half a character at the end."""
    return message.encode(errors="replace")[:LONGEST_MESSAGE_BYTES].decode(errors="ignore")
