"""What every served call has in common: decode, check, run, encode, and say what went wrong in a status.

A call is a plain function from request to response, given here as a table of names. Nothing of a request or a response
is ever logged: they hold keys and passwords.
"""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from typing import Any, NoReturn

import grpc
from google.protobuf import message_factory
from google.protobuf.descriptor import MethodDescriptor, ServiceDescriptor
from google.protobuf.message import DecodeError, Message

from iri.errors import Internal, InvalidArgument, IRIError, ResourceExhausted
from iri.server.list_encoder import LARGEST_MESSAGE_BYTES
from iri.wire.error_status import DETAILS, code_of, details_of

log = logging.getLogger(__name__)

Call = Callable[[Any], Message | bytes]
# A stream is handed a function that calls back when the caller is gone.
Stream = Callable[[Any, Callable[[Callable[[], None]], object]], Iterator[Message]]
Around = Callable[[str], AbstractContextManager[None]]

# A status travels in headers, of 8 KiB in all: the message three times as long where it is not ASCII, and once more, in base64, in
# the details. It cannot be left out there: where there are details, clients in Go take it from these.
LONGEST_MESSAGE_BYTES = 1500


def unhindered(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def handlers(
    service: ServiceDescriptor, calls: Mapping[str, Call | Stream], around: Around = unhindered
) -> grpc.GenericRpcHandler[bytes, bytes]:
    """Serves exactly the calls of the service. `around` may delay or refuse each, before or after its effect."""
    missing = {method.name for method in service.methods} ^ set(calls)
    if missing:
        raise ValueError(f"{service.full_name} and its table differ in {', '.join(sorted(missing))}")
    table = {
        method.name: streaming(method, calls[method.name], around)
        if method.server_streaming
        else unary(method, calls[method.name], around)
        for method in service.methods
    }
    return grpc.method_handlers_generic_handler(service.full_name, table)


def unary(method: MethodDescriptor, call: Any, around: Around) -> grpc.RpcMethodHandler[bytes, bytes]:
    request_type = message_factory.GetMessageClass(method.input_type)

    def serve(data: bytes, context: grpc.ServicerContext) -> bytes:
        # A caller that has gone while the call was queued does not expect it to be made any more.
        if not context.is_active():
            context.abort(grpc.StatusCode.CANCELLED, "the caller is gone")
        try:
            with around(method.name):
                return encoded(call(decoded(request_type, data)))
        except IRIError as error:
            refuse(context, method, error)
        except Exception as error:  # noqa: BLE001 - the border: a bug must not reach the caller in its own words
            refuse(context, method, bug(method, error))

    return grpc.unary_unary_rpc_method_handler(serve)


def streaming(method: MethodDescriptor, call: Any, around: Around) -> grpc.RpcMethodHandler[bytes, bytes]:
    request_type = message_factory.GetMessageClass(method.input_type)

    def serve(data: bytes, context: grpc.ServicerContext) -> Iterator[bytes]:
        try:
            with around(method.name):
                responses = call(decoded(request_type, data), context.add_callback)
            for response in responses:
                yield encoded(response)
        except IRIError as error:
            refuse(context, method, error)
        except Exception as error:  # noqa: BLE001 - as above
            refuse(context, method, bug(method, error))

    return grpc.unary_stream_rpc_method_handler(serve)


def decoded(request_type: type[Message], data: bytes) -> Message:
    try:
        return request_type.FromString(data)
    except DecodeError:
        raise InvalidArgument(f"the request is no valid {request_type.DESCRIPTOR.full_name}") from None


def encoded(response: Message | bytes) -> bytes:
    data = response if isinstance(response, bytes) else response.SerializeToString()
    if len(data) > LARGEST_MESSAGE_BYTES:
        raise ResourceExhausted(
            f"the response takes {len(data) / 2**20:.1f} MiB and may hold {LARGEST_MESSAGE_BYTES // 2**20} MiB"
        )
    return data


def bug(method: MethodDescriptor, error: Exception) -> Internal:
    """Says where, not what: the text of an unexpected exception may quote the request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("unexpected error call=%s error=%s\n%s", method.name, type(error).__name__, frames)
    return Internal(
        f"{method.name} failed unexpectedly ({type(error).__name__}); the runtime's log says where"
    )


def refuse(context: grpc.ServicerContext, method: MethodDescriptor, error: IRIError) -> NoReturn:
    code = code_of(error)
    log.debug("refused call=%s code=%s", method.name, code.name)
    message = shortened(str(error))
    if (details := details_of(error, message)) is not None:
        context.set_trailing_metadata(((DETAILS, details),))
    context.abort(code, message)


def shortened(message: str) -> str:
    return message.encode(errors="replace")[:LONGEST_MESSAGE_BYTES].decode(errors="ignore")
