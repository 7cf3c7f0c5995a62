/** Proxy for exactly granted hosts: plain HTTP in absolute form, and CONNECT, which is never opened to read it. */
import { Agent, type IncomingMessage, type ServerResponse } from 'node:http';
import type { Socket } from 'node:net';
import type { Duplex } from 'node:stream';
import type { ConnectionLog } from './connection-log.ts';
import { exchange } from './exchange.ts';
import { endToEndHeaders, requestHeaders } from './headers.ts';
import { parseTarget, type HostRules, type Target } from './host-rules.ts';
import { openTunnel } from './open-tunnel.ts';
import { explainHostRefusal, refuseRequest, refuseTunnel } from './refuse.ts';
import { createVettedLookup, type ResolveName } from './vetted-lookup.ts';

const NOT_AN_HTTP_URL = 'caisson: only http:// URLs are proxied in this form; https goes through CONNECT';

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
      const refuse = (why: string, status: number, text: string): void => {
        connection.end('denied', why);
        refuseRequest(response, status, text);
      };
      if (url === null || target === null) return refuse('not an http URL', 400, NOT_AN_HTTP_URL);
      if (!rules.allows(target))
        return refuse('not granted', 403, explainHostRefusal(target.text, rules.texts));
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
      const refuse = (why: string, status: number, title: string, text: string): void => {
        connection.end('denied', why);
        refuseTunnel(inside, status, title, text);
      };
      if (target === null)
        return refuse('not host:port', 400, 'Bad Request', 'caisson: CONNECT needs host:port');
      if (!rules.allows(target))
        return refuse('not granted', 403, 'Forbidden', explainHostRefusal(target.text, rules.texts));
      const outside = openTunnel({ target, inside, head, connection, lookup: lookupFor(target) });
      tunnels.add(outside);
      outside.once('close', () => tunnels.delete(outside));
    },
    close() {
      agent.destroy();
      for (const outside of tunnels) outside.destroy();
    },
  };
}
