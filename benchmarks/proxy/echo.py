"""A WebSocket echo server: `python3 echo.py PORT`."""

import asyncio
import sys

from websockets.asyncio.server import ServerConnection, serve


async def echo(connection: ServerConnection) -> None:
    async for message in connection:
        await connection.send(message)


async def main() -> None:
    async with serve(echo, "127.0.0.1", int(sys.argv[1]), ping_interval=None):
        print("listens", flush=True)
        await asyncio.Event().wait()


asyncio.run(main())
