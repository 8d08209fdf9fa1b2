// Preloaded into a program that cannot be told where to listen: it listens on loopback alone.
"use strict";

const { Server } = require("node:net");

const HOST = "127.0.0.1";
const { listen } = Server.prototype;

Server.prototype.listen = function (...args) {
  if (typeof args[0] === "object" && args[0] !== null && "port" in args[0]) {
    args[0] = { ...args[0], host: HOST };
  } else if (/^\d+$/.test(String(args[0]))) {
    args.splice(1, typeof args[1] === "string" ? 1 : 0, HOST);
  }
  return listen.apply(this, args);
};
