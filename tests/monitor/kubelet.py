#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A kubelet's pod-resources service, real gRPC on a socket: kubelet.py SOCKET ANSWER.

ANSWER is a file of JSON, read at each call: {"pod_resources": [...]} as in pod_resources.proto, or {"behave": "hang"}, "refuse" (a status),
"damage" (bytes that are no message), "huge" (17 MiB).  The code of the messages is generated when it starts.  Ends when stdin does.
"""
import json
import pathlib
import sys
import tempfile
import threading
from concurrent import futures

import grpc
import grpc_tools
from google.protobuf import json_format
from grpc_tools import protoc

HERE = pathlib.Path(__file__).resolve().parent


def messages(folder: str) -> object:
    """The generated module."""
    if protoc.main(["protoc", f"-I{HERE}", f"-I{pathlib.Path(grpc_tools.__file__).parent / '_proto'}", f"--python_out={folder}",
                    str(HERE / "pod_resources.proto")]) != 0:
        raise SystemExit("protoc failed")
    sys.path.insert(0, folder)
    import pod_resources_pb2  # noqa: PLC0415
    return pod_resources_pb2


def main() -> int:
    """Serves until stdin ends."""
    socket, answer = sys.argv[1], pathlib.Path(sys.argv[2])
    end = threading.Event()
    with tempfile.TemporaryDirectory() as folder:
        pb = messages(folder)

        def list_pods(request: bytes, context: grpc.ServicerContext) -> bytes:
            pb.ListRequest.FromString(request)
            said = json.loads(answer.read_text())
            behave = said.get("behave")
            if behave == "hang":
                end.wait(60)
            if behave == "refuse":
                context.abort(grpc.StatusCode.RESOURCE_EXHAUSTED, "rejected by rate limit")
            if behave == "damage":
                return b"\x0a\xff\xff\xff\xff\x0fshort"
            if behave == "huge":
                return b"\x7a\x80\x80\x80\x09" + bytes(18 << 20)
            return json_format.ParseDict(said, pb.ListResponse()).SerializeToString()

        server = grpc.server(futures.ThreadPoolExecutor(4))
        server.add_generic_rpc_handlers([grpc.method_handlers_generic_handler("v1.PodResourcesLister", {
            "List": grpc.unary_unary_rpc_method_handler(list_pods, request_deserializer=None, response_serializer=None)})])
        server.add_insecure_port(f"unix:{socket}")
        server.start()
        print("ready", flush=True)
        sys.stdin.read()
        end.set()
        server.stop(None)
    return 0


if __name__ == "__main__":
    sys.exit(main())
