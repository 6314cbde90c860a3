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
from iri.wire.error_status import DETAILS, encode_details, status_code

log = logging.getLogger(__name__)

Call = Callable[[Any], Message | bytes]
# A stream is handed a function that calls back when the caller is gone.
StreamCall = Callable[[Any, Callable[[Callable[[], None]], object]], Iterator[Message]]
CallWrapper = Callable[[str], AbstractContextManager[None]]

# A status travels in headers, of 8 KiB in all: the message three times as long where it is not ASCII, and once more, in base64, in
# the details. It cannot be left out there: where there are details, clients in Go take it from these.
LONGEST_MESSAGE_BYTES = 1500


def run_unwrapped(_: str) -> AbstractContextManager[None]:
    return nullcontext()


def build_handlers(
    service: ServiceDescriptor, calls: Mapping[str, Call | StreamCall], wrapper: CallWrapper = run_unwrapped
) -> grpc.GenericRpcHandler[bytes, bytes]:
    """Serves exactly the calls of the service. `wrapper` may delay or refuse each, before or after its effect."""
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
    request_type = message_factory.GetMessageClass(method.input_type)

    def serve(data: bytes, context: grpc.ServicerContext) -> bytes:
        # A caller that has gone while the call was queued does not expect it to be made any more.
        if not context.is_active():
            context.abort(grpc.StatusCode.CANCELLED, "the caller is gone")
        try:
            with wrapper(method.name):
                return encode_response(call(decode_request(request_type, data)))
        except IRIError as error:
            abort_call(context, method, error)
        except Exception as error:  # noqa: BLE001 - the border: a bug must not reach the caller in its own words
            abort_call(context, method, report_bug(method, error))

    return grpc.unary_unary_rpc_method_handler(serve)


def build_streaming(
    method: MethodDescriptor, call: Any, wrapper: CallWrapper
) -> grpc.RpcMethodHandler[bytes, bytes]:
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
    try:
        return request_type.FromString(data)
    except DecodeError:
        raise InvalidArgument(f"the request is no valid {request_type.DESCRIPTOR.full_name}") from None


def encode_response(response: Message | bytes) -> bytes:
    data = response if isinstance(response, bytes) else response.SerializeToString()
    if len(data) > LARGEST_MESSAGE_BYTES:
        raise ResourceExhausted(
            f"the response takes {len(data) / 2**20:.1f} MiB and may hold {LARGEST_MESSAGE_BYTES // 2**20} MiB"
        )
    return data


def report_bug(method: MethodDescriptor, error: Exception) -> Internal:
    """Says where, not what: the text of an unexpected exception may quote the request."""
    frames = "".join(traceback.format_tb(error.__traceback__))
    log.error("unexpected error call=%s error=%s\n%s", method.name, type(error).__name__, frames)
    return Internal(
        f"{method.name} failed unexpectedly ({type(error).__name__}); the runtime's log says where"
    )


def abort_call(context: grpc.ServicerContext, method: MethodDescriptor, error: IRIError) -> NoReturn:
    code = status_code(error)
    log.debug("refused call=%s code=%s", method.name, code.name)
    message = shorten(str(error))
    if (details := encode_details(error, message)) is not None:
        context.set_trailing_metadata(((DETAILS, details),))
    context.abort(code, message)


def shorten(message: str) -> str:
    return message.encode(errors="replace")[:LONGEST_MESSAGE_BYTES].decode(errors="ignore")
