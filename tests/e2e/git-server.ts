/** A real git over HTTP on this machine: `git http-backend` behind a server that asks for a token, or misbehaves. */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { dirname, basename } from 'node:path';
import { onTestFinished } from 'vitest';

export interface GitServer {
  /** The address of the repository. */
  readonly url: string;
  /** The headers of every request, in order. */
  readonly seen: IncomingMessage[];
  /** Serves one request, also without a token. */
  serve(request: IncomingMessage, response: ServerResponse): void;
  /** What it does with requests from now on, instead of serving them. */
  misbehave(how: ((request: IncomingMessage, response: ServerResponse) => void) | null): void;
}

/** Serves the folder of a bare repository; `token`: nobody gets in without it. */
export async function serveGit(repository: string, { token }: { token?: string } = {}): Promise<GitServer> {
  const seen: IncomingMessage[] = [];
  let odd: Parameters<GitServer['misbehave']>[0] = null;
  const server = createServer((request, response) => {
    seen.push(request);
    if (odd !== null) return odd(request, response);
    if (token === undefined || isAllowed(request, token)) return void serve(repository, request, response);
    response.writeHead(401, { 'www-authenticate': 'Basic realm="git"' }).end();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  onTestFinished(() => {
    server.closeAllConnections();
    server.close();
  });
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://127.0.0.1:${port}/${basename(repository)}`,
    seen,
    serve: (request, response) => serve(repository, request, response),
    misbehave(how) {
      odd = how;
    },
  };
}

function isAllowed({ headers }: IncomingMessage, token: string): boolean {
  const given = /^Basic (.*)$/.exec(headers.authorization ?? '')?.[1] ?? '';
  return Buffer.from(given, 'base64').toString('utf8') === `x-access-token:${token}`;
}

/** As a web server runs a CGI program: the request in variables and stdin, the answer from stdout. */
function serve(repository: string, request: IncomingMessage, response: ServerResponse): void {
  const url = new URL(request.url ?? '/', 'http://localhost');
  const child = spawn('git', ['-c', 'http.receivepack=true', 'http-backend'], {
    stdio: ['pipe', 'pipe', 'ignore'],
    env: {
      PATH: '/usr/local/bin:/usr/bin:/bin',
      GIT_PROJECT_ROOT: dirname(repository),
      GIT_HTTP_EXPORT_ALL: '1',
      GIT_CONFIG_GLOBAL: '/dev/null',
      REQUEST_METHOD: request.method ?? 'GET',
      PATH_INFO: url.pathname,
      QUERY_STRING: url.search.slice(1),
      CONTENT_TYPE: request.headers['content-type'] ?? '',
      REMOTE_ADDR: '127.0.0.1',
      ...(request.headers['content-encoding'] === undefined
        ? {}
        : { HTTP_CONTENT_ENCODING: request.headers['content-encoding'] }),
      ...(typeof request.headers['git-protocol'] === 'string'
        ? { GIT_PROTOCOL: request.headers['git-protocol'] }
        : {}),
    },
  });
  request.pipe(child.stdin).on('error', () => child.kill());
  let head = Buffer.alloc(0);
  child.stdout.on('data', (chunk: Buffer) => {
    if (response.headersSent) return void response.write(chunk);
    head = Buffer.concat([head, chunk]);
    const end = head.indexOf('\r\n\r\n');
    if (end === -1) return;
    const lines = head.subarray(0, end).toString('latin1').split('\r\n');
    const headers = lines.map(
      (line) => [line.slice(0, line.indexOf(':')), line.slice(line.indexOf(':') + 1).trim()] as const,
    );
    const status = headers.find(([name]) => name === 'Status')?.[1] ?? '200';
    response.writeHead(
      Number.parseInt(status, 10),
      Object.fromEntries(headers.filter(([name]) => name !== 'Status')),
    );
    response.write(head.subarray(end + 4));
  });
  child.once('close', () => response.end());
}
