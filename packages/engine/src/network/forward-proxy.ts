/** Proxy for exactly granted hosts: plain HTTP in absolute form, and CONNECT, which is never opened to look inside. */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import { connect, type Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionLog } from './connection-log.ts';
import { PrivateAddressError } from './errors.ts';
import { exchange, IDLE_MS } from './exchange.ts';
import { endToEndHeaders, requestHeaders } from './headers.ts';
import { parseTarget, type HostRules, type Target } from './host-rules.ts';
import { explainHostRefusal, refuseRequest, refuseTunnel } from './refuse.ts';
import { createVettedLookup, type ResolveName } from './vetted-lookup.ts';

export interface ForwardProxy {
  /** A request in absolute form (`GET http://host/path`). */
  serveHttp(request: IncomingMessage, response: ServerResponse): void;
  serveConnect(request: IncomingMessage, inside: Duplex, head: Buffer): void;
  close(): void;
}

export function createForwardProxy(
  rules: HostRules,
  log: ConnectionLog,
  resolveName: ResolveName,
): ForwardProxy {
  const agent = new Agent({ keepAlive: true });
  const tunnels = new Set<Socket>();
  const lookupFor = ({ port }: Target) =>
    createVettedLookup(resolveName, (address) => rules.allowsAddress(address, port));

  return {
    serveHttp(request, response) {
      const url = URL.parse(request.url ?? '');
      const target = url?.protocol === 'http:' ? parseTarget(url.host, 80) : null;
      const connection = log.start('http', target?.text ?? request.url ?? '');
      if (url === null || target === null) {
        connection.end('denied', 'not an http URL');
        refuseRequest(
          response,
          400,
          'caisson: only http:// URLs are proxied in this form; https goes through CONNECT',
        );
        return;
      }
      if (!rules.allows(target)) {
        connection.end('denied', 'not granted');
        refuseRequest(response, 403, explainHostRefusal(target.text, rules.texts));
        return;
      }
      exchange({
        request,
        response,
        connection,
        path: `${url.pathname}${url.search}`,
        recordedPath: url.pathname,
        headers: requestHeaders(request.headers, url.host),
        destination: {
          isSecure: false,
          agent,
          name: target.text,
          options: { host: target.host, port: target.port, lookup: lookupFor(target) },
        },
        answer: (upstream) => ({ headers: endToEndHeaders(upstream.headers), through: [] }),
      });
    },
    serveConnect(request, inside, head) {
      const target = parseTarget(request.url ?? '');
      const connection = log.start('connect', target?.text ?? request.url ?? '');
      inside.on('error', () => inside.destroy());
      if (target === null) {
        connection.end('denied', 'not host:port');
        refuseTunnel(inside, 400, 'Bad Request', 'caisson: CONNECT needs host:port');
        return;
      }
      if (!rules.allows(target)) {
        connection.end('denied', 'not granted');
        refuseTunnel(inside, 403, 'Forbidden', explainHostRefusal(target.text, rules.texts));
        return;
      }
      const outside = connect({
        host: target.host,
        port: target.port,
        lookup: lookupFor(target),
        allowHalfOpen: true,
        noDelay: true,
      });
      tunnels.add(outside);
      let isUp = false;
      outside.setTimeout(IDLE_MS, () => outside.destroy(new Error(`silent for ${IDLE_MS / 60_000} minutes`)));
      outside.once('connect', () => {
        isUp = true;
        inside.write('HTTP/1.1 200 Connection established\r\n\r\n');
        if (head.length > 0) outside.write(head);
        inside.pipe(outside);
        outside.pipe(inside);
      });
      outside.on('error', (error: Error) => {
        const isRefused = error instanceof PrivateAddressError;
        if (!isUp) {
          connection.end(isRefused ? 'denied' : 'failed', error.message);
          const words = `caisson: ${target.text} could not be reached: ${error.message}`;
          refuseTunnel(inside, isRefused ? 403 : 502, isRefused ? 'Forbidden' : 'Bad Gateway', words);
          return;
        }
        connection.addUp(outside.bytesWritten);
        connection.addDown(outside.bytesRead);
        connection.end('failed', error.message);
        inside.destroy();
      });
      outside.once('close', () => {
        tunnels.delete(outside);
        connection.addUp(outside.bytesWritten);
        connection.addDown(outside.bytesRead);
        connection.end('allowed');
        if (isUp) inside.destroy();
      });
      inside.once('close', () => outside.destroy());
    },
    close() {
      agent.destroy();
      for (const outside of tunnels) outside.destroy();
    },
  };
}
