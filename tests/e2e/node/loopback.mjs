// --import of this file: what listens on a port of all addresses listens on loopback only.

import net from "node:net";

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (port, ...rest) {
  if (typeof port === "number" || /^\d+$/.test(port)) {
    const ready = rest.find((one) => typeof one === "function");
    return listen.call(this, Number(port), "127.0.0.1", ready);
  }
  return listen.call(this, port, ...rest);
};
