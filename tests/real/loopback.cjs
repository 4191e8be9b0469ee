// loopback.cjs - for node --require: whatever listens does so on 127.0.0.1 alone.
'use strict';
const net = require('node:net');

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
    const done = args.find((arg) => typeof arg === 'function');
    const port = Number(args[0]?.port ?? args[0]) || 0;
    return listen.call(this, { port, host: '127.0.0.1' }, done);
};
