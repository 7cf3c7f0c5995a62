/** The routes about the daemon itself. */
import { FaceOrder, MAX_DRAIN_MS, StopOrder } from '@caisson/protocol';
import { Hono, type Context } from 'hono';
import * as z from 'zod/mini';
import { InputInvalidError, withProblems } from '../api/index.ts';
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
  const routes = withProblems(new Hono());
  routes.get('/v1/status', (context) => context.json(daemon.status()));
  routes.get('/v1/metrics', async (context) =>
    context.text(await daemon.metrics(), 200, { 'content-type': 'text/plain; version=0.0.4; charset=utf-8' }),
  );
  routes.post('/v1/stop', async (context) => {
    daemon.stop(await readOrder(context, StopOrder, STOP_ORDERS));
    return context.json(daemon.status(), 202);
  });
  routes.post('/v1/reload', async (context) => context.json(await daemon.reload()));
  return { fetch: (request) => routes.fetch(request) };
}

const STOP_ORDERS = `{ "drainMs": N } with at most ${MAX_DRAIN_MS}, { "leave": true } or { "now": true }`;

/** For callers on the socket alone: where the daemon listens beside it. */
export function createFaceRoutes(daemon: Pick<DaemonControl, 'openFace' | 'closeFace'>): ControlRoutes {
  const routes = withProblems(new Hono());
  routes.post(FACE_PATH, async (context) =>
    context.json(await daemon.openFace(await readOrder(context, FaceOrder, '{ "port": N }'))),
  );
  routes.delete(FACE_PATH, async (context) => {
    await daemon.closeFace();
    return context.json({});
  });
  return { fetch: (request) => routes.fetch(request) };
}

async function readOrder<T>({ req }: Context, schema: z.ZodMiniType<T>, form: string): Promise<T> {
  const order = z.safeParse(schema, await req.json().catch(() => null));
  if (!order.success) throw new InputInvalidError(`the body must be ${form}`);
  return order.data;
}
