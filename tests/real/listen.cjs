// listen.cjs - for node --require: keeps a server on this machine, and tells what it hears.
//
// Whatever listens does so on 127.0.0.1 alone. Told on stderr, one line each:
//   test: port N                      it listens; so port 0 will do
//   test: METHOD PATH                 a request began
//   test: heard METHOD                its body was this message; `a reply` if it has none
//   test: end METHOD PATH STATUS      it is over; with `cut` at the end if the client went
'use strict';
const fs = require('node:fs');
const net = require('node:net');
const { subscribe } = require('node:diagnostics_channel');

const say = (text) => fs.writeSync(2, `test: ${text}\n`);

const listen = net.Server.prototype.listen;
net.Server.prototype.listen = function (...args) {
    const done = args.find((arg) => typeof arg === 'function');
    const port = Number(args[0]?.port ?? args[0]);
    this.once('listening', () => say(`port ${this.address().port}`));
    return listen.call(this, { port, host: '127.0.0.1' }, done);
};

function tellBody(request) {
    const pieces = [];
    const push = request.push;
    request.push = (piece, ...rest) => {
        if (piece !== null)
            pieces.push(piece);
        else if (pieces.length)
            try {
                say(`heard ${JSON.parse(Buffer.concat(pieces)).method ?? 'a reply'}`);
            } catch {
                say('heard no JSON');
            }
        return push.call(request, piece, ...rest);
    };
}

subscribe('http.server.request.start', ({ request, response }) => {
    const what = `${request.method} ${request.url.split('?')[0]}`;
    say(what);
    tellBody(request);
    response.once('close', () =>
        say(`end ${what} ${response.statusCode}${response.writableFinished ? '' : ' cut'}`));
});
