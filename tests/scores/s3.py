"""An S3 server on this machine."""

from __future__ import annotations

import os
import uuid
from collections.abc import Iterator
from contextlib import contextmanager

import pytest


@contextmanager
def bucket() -> Iterator[str]:
    """The URL of an empty cache there; processes that are started meanwhile find it too."""
    from moto.server import ThreadedMotoServer

    server = ThreadedMotoServer(port=0, verbose=False)
    server.start()
    host, port = server.get_host_and_port()
    with pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ENDPOINT_URL": f"http://{host}:{port}",
            "AWS_ACCESS_KEY_ID": "test",
            "AWS_SECRET_ACCESS_KEY": "test",
            "AWS_DEFAULT_REGION": "us-east-1",
        }.items():
            patch.setenv(name, value)
        for name in [name for name in os.environ if name.lower().endswith("_proxy")]:
            patch.delenv(name)
        try:
            import s3fs

            s3fs.S3FileSystem.clear_instance_cache()
            name = f"b{uuid.uuid4().hex}"
            s3fs.S3FileSystem().mkdir(name)
            yield f"s3://{name}/cache"
        finally:
            s3fs.S3FileSystem.clear_instance_cache()
            server.stop()
