/** The routes about the daemon itself. */
import { FaceOrder, StopOrder, toErrorInfo, type ErrorInfo, type Problem } from '@caisson/protocol';
import { Hono } from 'hono';
import * as z from 'zod/mini';
import type { DaemonControl } from './contract.ts';

export const CONTROL_PATHS: readonly string[] = ['/v1/status', '/v1/metrics', '/v1/stop', '/v1/reload'];

/** What a request to one of them changes; null where it only asks. */
export function actOfControl(method: string | undefined, path: string): 'stop' | 'reload' | null {
  if (method !== 'POST') return null;
  return path === '/v1/stop' ? 'stop' : path === '/v1/reload' ? 'reload' : null;
}

export const FACE_PATH = '/v1/face';

export interface ControlRoutes {
  fetch(request: Request): Response | Promise<Response>;
}

/** Errors are `application/problem+json`, with our public code and remedy. */
export function createControlRoutes(daemon: DaemonControl): ControlRoutes {
  const routes = new Hono();
  routes.get('/v1/status', (context) => context.json(daemon.status()));
  routes.get('/v1/metrics', async (context) =>
    context.text(await daemon.metrics(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
  routes.post('/v1/stop', async (context) => {
    const order = z.safeParse(StopOrder, await context.req.json().catch(() => null));
    if (!order.success)
      return problem(400, {
        code: 'USAGE',
        message: 'the body must be { "drainMs": N }, { "leave": true } or { "now": true }',
        retryable: false,
      });
    daemon.stop(order.data);
    return context.json(daemon.status(), 202);
  });
  routes.post('/v1/reload', async (context) => {
    try {
      return context.json(await daemon.reload());
    } catch (error) {
      return problem(409, toErrorInfo(error));
    }
  });
  return { fetch: (request) => routes.fetch(request) };
}

/** For callers on the socket alone: where the daemon listens beside it. */
export function createFaceRoutes(daemon: Pick<DaemonControl, 'openFace' | 'closeFace'>): ControlRoutes {
  const routes = new Hono();
  routes.post(FACE_PATH, async (context) => {
    const order = z.safeParse(FaceOrder, await context.req.json().catch(() => null));
    if (!order.success)
      return problem(400, { code: 'USAGE', message: 'the body must be { "port": N }', retryable: false });
    try {
      return context.json(await daemon.openFace(order.data));
    } catch (error) {
      return problem(409, toErrorInfo(error));
    }
  });
  routes.delete(FACE_PATH, async (context) => {
    await daemon.closeFace();
    return context.json({});
  });
  return { fetch: (request) => routes.fetch(request) };
}

function problem(status: number, info: ErrorInfo): Response {
  const body: Problem = { type: 'about:blank', title: info.code, status, ...info };
  return new Response(JSON.stringify(body), {
    status,
    headers: { 'content-type': 'application/problem+json' },
  });
}
