// The reference server of the Model Context Protocol on loopback only: PORT says where. Says "ready".

import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ready) {
  return listen.call(this, port, "127.0.0.1", () => {
    ready?.();
    console.log("ready");
  });
};

await import("@modelcontextprotocol/server-everything/dist/transports/streamableHttp.js");
