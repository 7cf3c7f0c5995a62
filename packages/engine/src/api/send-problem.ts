import type { ServerResponse } from 'node:http';
import { toProblem } from './problems.ts';

/** What is wrong with a request, where no route has begun to answer it. */
export function sendProblem(response: ServerResponse, error: unknown): void {
  if (response.headersSent) return void response.destroy();
  const problem = toProblem(error);
  response.writeHead(problem.status, { 'content-type': 'application/problem+json' });
  response.end(JSON.stringify(problem));
}
