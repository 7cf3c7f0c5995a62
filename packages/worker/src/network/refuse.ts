/** How the sandbox learns that something did not work: plain words, in a form that model clients show. */
import type { ServerResponse } from 'node:http';
import type { Duplex } from 'node:stream';

/** Why a host was refused and what a person can do about it. */
export function explainHostRefusal(target: string, granted: readonly string[]): string {
  const rule = granted.length === 0 ? 'no host is granted' : `granted: ${granted.join(', ')}`;
  return `caisson: ${target} is not among the hosts granted to this run (${rule}). Rule: network.hosts, exact host and port. A person can grant it with network.hosts in caisson.yaml or --network hosts=${target}.`;
}

export function refuseRequest(response: ServerResponse, status: number, message: string): void {
  if (response.headersSent) {
    response.destroy();
    return;
  }
  const body = `${JSON.stringify({ error: { type: 'caisson_network', message } })}\n`;
  // The rest of a refused upload is not read: the connection ends with the answer.
  response.writeHead(status, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(body),
    connection: 'close',
  });
  response.end(body);
}

export function refuseTunnel(socket: Duplex, status: number, reason: string, message: string): void {
  const body = `${message}\n`;
  socket.end(
    `HTTP/1.1 ${status} ${reason}\r\ncontent-type: text/plain; charset=utf-8\r\ncontent-length: ${Buffer.byteLength(body)}\r\nconnection: close\r\n\r\n${body}`,
  );
}
