"""The process in which the real Functions runtime library runs an app, driven by lines of JSON.

The library takes the messages of its protocol as an injected module; plain values do. It keeps
state for one app, so each app has a process of its own. A line of JSON comes in, one goes out.
"""

from __future__ import annotations

import asyncio
import importlib
import json
import os
import sys
import uuid
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

KILL_AT = "TEST_KILL_AT"
"""Names a Step at which the process dies as if by kill -9."""


class Message(SimpleNamespace):
    """A message of the protocol with whatever fields it was given."""


class StatusResult(Message):
    """How a call ended."""

    Failure = 0
    Success = 1


class BindingInfo(Message):
    """A binding's kind and direction."""

    out = 1
    inout = 2
    undefined = 0


class OneOf:
    """A message of which one field is set."""

    def __init__(self, **field: Any) -> None:
        self._field = field

    def WhichOneof(self, group: str) -> str | None:  # noqa: N802 - protobuf's own name
        """The name of the field that is set."""
        del group
        return next(iter(self._field), None)

    def __getattr__(self, name: str) -> Any:
        try:
            return self.__dict__["_field"][name]
        except KeyError:
            raise AttributeError(name) from None


PROTOS = SimpleNamespace(
    StatusResult=StatusResult,
    BindingInfo=BindingInfo,
    TypedData=OneOf,
    ParameterBinding=lambda name, data: Message(name=name, data=data),
    RpcException=Message,
    RpcFunctionMetadata=Message,
    RpcHttp=Message,
    RpcRetryOptions=Message,
    WorkerMetadata=Message,
    WorkerInitResponse=Message,
    FunctionMetadataResponse=Message,
    FunctionLoadResponse=Message,
    InvocationResponse=Message,
)


class Worker:
    """The runtime with one app indexed."""

    def __init__(self, app: Path) -> None:
        from azure_functions_runtime import handle_event
        from azure_functions_runtime.utils.threadpool import start_threadpool_executor

        start_threadpool_executor()
        self._runtime = handle_event
        self._app = app
        self._functions: dict[str, Any] = {}

    async def index(self, _: Any) -> Any:
        """Index the app as the host has it done at start."""
        init = Message(function_app_directory=str(self._app), capabilities={})
        answer = await self._runtime.worker_init_request(
            Message(
                request=Message(worker_init_request=init),
                properties={"host": "127.0.0.1", "protos": PROTOS},
            )
        )
        if answer.result.status == StatusResult.Failure:
            return {"error": answer.result.exception.message}
        listed = await self._runtime.functions_metadata_request(Message())
        for found in listed.function_metadata_results or ():
            await self._runtime.function_load_request(
                Message(
                    request=Message(
                        function_load_request=Message(function_id=found.function_id, metadata=found)
                    )
                )
            )
            self._functions[found.name] = found
        bindings = {
            name: [json.loads(raw) for raw in found.raw_bindings]
            for name, found in self._functions.items()
        }
        return {"functions": bindings}

    async def invoke(self, asked: Any) -> Any:
        """Run one function as the host would."""
        found = self._functions[asked["function"]]
        (parameter,) = (n for n, b in found.bindings.items() if b.direction == 0)
        data = _typed(asked["data"])
        incoming = OneOf(data=data)
        incoming.name = parameter  # type: ignore[attr-defined]
        metadata = {name: _typed(value) for name, value in asked.get("metadata", {}).items()}
        trace = Message(trace_parent="", trace_state="", attributes={})
        request = Message(
            invocation_id=str(uuid.uuid4()),
            function_id=found.function_id,
            input_data=[incoming],
            trigger_metadata=metadata,
            trace_context=trace,
            retry_context=Message(retry_count=0, max_retry_count=0, exception=None),
        )
        answer = await self._runtime.invocation_request(
            Message(request=Message(invocation_request=request))
        )
        if answer.result.status == StatusResult.Failure:
            wrong = answer.result.exception
            return {"error": wrong.message, "trace": wrong.stack_trace}
        return {"value": _plain(answer.return_value)}


def _typed(value: Any) -> OneOf:
    kind, content = value
    if kind != "http":
        return OneOf(**{kind: content})
    content = {**content, "body": OneOf(bytes=content["body"].encode())}
    return OneOf(http=Message(**content))


def _plain(value: Any) -> Any:
    if value is None:
        return None
    kind = value.WhichOneof("data")
    if kind != "http":
        return getattr(value, kind)
    http = value.http
    body = getattr(http.body, http.body.WhichOneof("data"))
    return {
        "status": int(http.status_code),
        "headers": dict(http.headers),
        "body": body.decode() if isinstance(body, bytes) else body,
    }


def _die_at(step: str) -> None:
    """Have every process-wide part of the app die at a step."""
    from openmirror.wiring import functions

    real: Callable[..., Any] = vars(functions)["root_ports"]

    def steps(reached: Any) -> None:
        if reached.value == step:
            os._exit(137)

    def root_ports(*args: Any, **more: Any) -> Any:
        return real(*args, **{**more, "steps": steps})

    vars(functions)["root_ports"] = root_ports


async def serve(app: Path) -> None:
    """Answer lines until there are no more."""
    answers = os.fdopen(os.dup(1), "w", buffering=1)
    os.dup2(2, 1)  # what the app prints must not be taken for an answer
    worker = Worker(app)
    if step := os.environ.get(KILL_AT):
        _die_at(step)
    for line in sys.stdin:
        asked = json.loads(line)
        answer = await getattr(worker, asked["call"])(asked)
        answers.write(json.dumps(answer) + "\n")


if __name__ == "__main__":
    place = Path(sys.argv[1])
    # The host starts its worker in the app's folder, and puts it first on the path.
    os.chdir(place)
    sys.path.insert(0, str(place))
    importlib.invalidate_caches()
    asyncio.run(serve(place))
