// The reference server of the Model Context Protocol on loopback only: PORT says where. Says "ready".
// "sse" as its argument: over the transport of 2024-11-05.

import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ready) {
  return listen.call(this, port, "127.0.0.1", () => {
    ready?.();
    console.log("ready");
  });
};

const transport = process.argv[2] === "sse" ? "sse" : "streamableHttp";
await import(`@modelcontextprotocol/server-everything/dist/transports/${transport}.js`);
